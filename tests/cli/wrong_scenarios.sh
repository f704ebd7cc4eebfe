#!/usr/bin/env bash
# Every wrong scenario ends with exit code 2, all its errors on stderr, each with its place, and
# nothing on stdout.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# expect NAME PATTERN...: NAME.toml is refused, and each extended regular expression is in a line.
expect() {
  local name=$1 status=0 pattern
  shift
  "$program" predict "$name.toml" >out 2>err || status=$?
  for pattern in "$@"; do
    if ! grep -qE -- "$pattern" err; then
      echo "FAILED: $name: no line like: $pattern" >&2
      cat err >&2
      exit 1
    fi
  done
  if [ "$status" -ne 2 ] || [ -s out ]; then
    echo "FAILED: $name: exit $status" >&2
    cat out err >&2
    exit 1
  fi
}

# wrong NAME PATTERN...: the scenario is on standard input.
wrong() {
  cat >"$1.toml"
  expect "$@"
}

wrong unknown_key "unknown_key.toml:4:1: unknown key 'bach' in \[training\]; did you mean 'batch'\?" <<'EOF'
[model]
name = "gpt2-124m"
[training]
bach = 4
[cluster]
gpu = "h200-sxm"
EOF

wrong wrong_type "wrong_type.toml:4:9: 'batch' in \[training\] must be an integer .*got \"four\"" <<'EOF'
[model]
name = "gpt2-124m"
[training]
batch = "four"
[cluster]
gpu = "h200-sxm"
EOF

wrong negative_batch "negative_batch.toml:4:9: 'batch' in \[training\] must be an integer from 1 .*got -4" <<'EOF'
[model]
name = "gpt2-124m"
[training]
batch = -4
[cluster]
gpu = "h200-sxm"
EOF

wrong heads "heads.toml:3:9: heads must divide hidden: 768 / 7 leaves 5" <<'EOF'
[model]
name = "gpt2-124m"
heads = 7
[cluster]
gpu = "h200-sxm"
EOF

wrong not_a_number "not_a_number.toml:6:17: 'bucket_cap_MB' in \[parallel\] must be a number .*got nan" <<'EOF'
[model]
name = "gpt2-124m"
[cluster]
gpu = "h200-sxm"
[parallel]
bucket_cap_MB = nan
EOF

wrong no_gpus "no_gpus.toml:5:8: 'gpus' in \[cluster\] must be an integer from 1 .*got 0" <<'EOF'
[model]
name = "gpt2-124m"
[cluster]
gpu = "h200-sxm"
gpus = 0
EOF

wrong everything \
  "everything.toml:2:1: unknown key 'nam' in \[model\]; did you mean 'name'\?" \
  "everything.toml:4:7: 'seq' in \[training\] must be an integer" \
  "everything.toml:5:13: 'precision' in \[training\] must be one of .*did you mean 'bf16'\?" \
  "everything.toml:6:2: missing key 'gpu' in \[cluster\]" \
  "everything.toml:8:2: unknown table 'cots'" <<'EOF'
[model]
nam = "gpt2-124m"
[training]
seq = 1.5
precision = "bf61"
[cluster]
gpus = 1
[cots]
price = 3
EOF

wrong no_link "no_link.toml:3:2: more than one GPU needs a link" <<'EOF'
[model]
name = "gpt2-124m"
[cluster]
gpu = "h200-sxm"
gpus = 2
EOF

wrong syntax 'syntax.toml:2:[0-9]+: ' <<'EOF'
[model]
name = "gpt2-124m
EOF

wrong duplicate 'duplicate.toml:3:[0-9]+: ' <<'EOF'
[model]
name = "gpt2-124m"
name = "gpt2-355m"
EOF

wrong empty 'empty.toml:1:1: ' </dev/null

head -c 10000000 /dev/urandom >garbage.toml
expect garbage 'garbage.toml:1:1: is larger than 1 MB'

head -c 100000 /dev/zero >zeros.toml
expect zeros 'zeros.toml:1:1: '

mkdir folder.toml
expect folder 'folder.toml: is a directory'
expect absent 'absent.toml.*(cannot be read|no file)'
