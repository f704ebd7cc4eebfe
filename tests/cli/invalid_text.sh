#!/usr/bin/env bash
# Names, ids and paths that are no UTF-8, through every command that writes JSON: an answer that is UTF-8, or an
# error that a person can mend, and never our bug (exit 70).
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"
export LC_ALL=C STEPSIGHT_WEB=$work/none

nasty=$'na\xff\xc3(me'

# answers arguments...: exit 0, and what it says is UTF-8.
answers() {
  "$program" "$@" >out 2>err || fail "stepsight $* -> exit $?"
  iconv -f UTF-8 -t UTF-8 out >again || fail "stepsight $*: no UTF-8"
  grep -q $'\xef\xbf\xbd' out || fail "stepsight $*: the name is not in the answer"
}
# refused arguments...: exit 2 and words about it.
refused() {
  local status=0
  "$program" "$@" >out 2>err || status=$?
  [ "$status" -eq 2 ] && [ -s err ] || fail "stepsight $* -> exit $status"
}

# Runs.
runs=$source_dir/tests/validation/own_h200_runs.csv
{ head -n 1 "$runs"; sed -n '2,6p' "$runs" | sed "s/^/$nasty/"; } >runs.csv
answers validate runs.csv --json
answers report --runs runs.csv --json
answers report --runs runs.csv --format md
two=$source_dir/tests/validation/own_two_gpus_runs.csv
sed -e "1!s/^/$nasty/" -e 30q "$two" >two.csv
answers diagnose two.csv --json

# A name and a path.
mkdir "$nasty"
cat >"$nasty/config.json" <<'END'
{"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4,
 "num_attention_heads": 16, "vocab_size": 32000, "max_position_embeddings": 2048}
END
flags=(--gpu h200-sxm --batch 2 --seq 512)
answers predict --model "$nasty/config.json" "${flags[@]}" --json
answers report --model "$nasty/config.json" "${flags[@]}" --json
answers report --model "$nasty/config.json" "${flags[@]}" --format html
answers sweep --model "$nasty/config.json" "${flags[@]}" --optimizer sgd,adamw --json
answers trace --model "$nasty/config.json" "${flags[@]}" --json
for lang in en zh; do
  "$program" predict --model "$nasty/config.json" "${flags[@]}" --lang "$lang" >out || fail "predict in $lang"
done
trace=$(ls "$source_dir"/tests/validation/traces/*.json.gz | head -n 1)
cp "$trace" "$nasty.json.gz"
answers predict --model "$nasty.json.gz" --gpu h200-sxm --gpus 1,2 --link nvlink4-nvswitch --json
grep -v '^title' "$source_dir/scenarios/second_card.toml" >"$nasty.toml"
answers report "$nasty.toml" --against "$source_dir/scenarios/second_card.toml" --json

# A log.
for step in $(seq 1 40); do echo "{'loss': 2.5, 'step': $step, 'model': '$nasty', 'step_time': 0.5}"; done >"$nasty.log"
status=0
"$program" import "$nasty.log" --json >out 2>err || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 2 ] || fail "import -> exit $status"
iconv -f UTF-8 -t UTF-8 out >again || fail "import: no UTF-8"

# TOML is UTF-8: its reader says where it is not.
printf 'title = "%s"\n' "$nasty" >bad.toml
for command in predict report plan sweep trace; do refused "$command" bad.toml --json; done
refused predict --model "$nasty" "${flags[@]}" --json
refused show models "$nasty" --json
refused cost gemm --gpu "$nasty" --m 64 --n 64 --k 64 --json
