#!/usr/bin/env bash
# Colours on a terminal alone, completion in both shells, and the manual page: all from what --help says.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

escape=$(printf '\033')
ask=(predict --model gpt2-124m --gpu h200-sxm --batch 8)
good "${ask[@]}"
if grep -q "$escape" out; then fail "colours into a pipe"; fi
if command -v script >/dev/null; then
  TERM=xterm script -qec "'$program' ${ask[*]}" /dev/null >seen </dev/null
  grep -q "$escape" seen || fail "no colours on a terminal"
  TERM=xterm NO_COLOR=1 script -qec "'$program' ${ask[*]}" /dev/null >seen </dev/null
  if grep -q "$escape" seen; then fail "colours in spite of NO_COLOR"; fi
  TERM=dumb script -qec "'$program' ${ask[*]}" /dev/null >seen </dev/null
  if grep -q "$escape" seen; then fail "colours on a dumb terminal"; fi
fi

# complete WORDS...: what bash offers for the last of them.
wide=1 good completion bash
bash -n out || fail "the bash script does not parse"
cp out completion.bash
complete_words() {
  bash -c '. ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stepsight; printf "%s\n" "${COMPREPLY[@]}"' \
    complete "$@"
}
[ "$(complete_words stepsight pred)" = predict ] || fail "stepsight pred<TAB>: $(complete_words stepsight pred)"
complete_words stepsight predict --gl | grep -qx -e --global-batch || fail "--gl<TAB>"
complete_words stepsight predict --model gpt2-7 | grep -qx gpt2-774m || fail "--model gpt2-7<TAB>"
complete_words stepsight predict --optimizer sgd,ad | grep -qx sgd,adamw || fail "a list's second value"
wide=1 good completion zsh
if command -v zsh >/dev/null; then zsh -n out || fail "the zsh script does not parse"; fi
has '^#compdef stepsight'

# Every command and every flag of --help is in the manual page.
wide=1 good completion man
cp out stepsight.1
"$program" --help | sed -n '/^S[uU][bB]/,/^$/s/^  \([a-z]*\) .*/\1/p' >commands
[ -s commands ] || fail "no commands in --help"
"$program" completion zsh >completion.zsh
# The command's own section of each: between its heading and the next one's.
manual_of() { sed -n "/^\.SS stepsight $1\( \|\$\)/,/^\.S[SH] /{//!p}" stepsight.1 | sed 's/\\-/-/g'; }
zsh_of() { sed -n "/^    $1)\$/,/;;\$/p" completion.zsh; }
while read -r name; do
  grep -q "^\.SS stepsight $name" stepsight.1 || fail "the manual lacks $name"
  manual_of "$name" | grep '^\.B ' >in_manual || true
  zsh_of "$name" >in_zsh
  complete_words stepsight "$name" -- >in_bash
  # What --help lists in its first column: an option's names.
  "$program" "$name" --help | sed -n 's/^  \(-[^ ].*\)/\1/p' | grep -oE -- '^(-[a-z],)?--[A-Za-z][A-Za-z0-9-]+' |
    sed 's/^-[a-z],//' | sort -u >flags
  [ -s flags ] || fail "no flags in --help of $name"
  while read -r flag; do
    grep -qE -- "$flag( |,|\$)" in_manual || fail "the manual lacks $flag of $name"
    grep -qF -- "'$flag[" in_zsh || fail "zsh lacks $flag of $name"
    grep -qxF -- "$flag" in_bash || fail "bash lacks $flag of $name"
  done <flags
done <commands
grep -qx -e --global-batch in_bash || [ "$(complete_words stepsight plan --global)" = --global-batch ] ||
  fail "plan --global<TAB>"
if command -v groff >/dev/null; then
  groff -man -ww -z stepsight.1 2>warnings || fail "groff"
  [ ! -s warnings ] || fail "groff: $(head -n 3 warnings)"
fi
bad 'fish' completion fish
