#!/usr/bin/env bash
# run.sh PROGRAM CORPUS SECONDS [READER...]: fuzzes each reader for so many seconds, from its seeds and from
# what earlier runs found. Exits 1 at the first finding; the input is kept in CORPUS and named.
set -euo pipefail
program=$1
corpus=$2
seconds=$3
shift 3
mkdir -p "$corpus"
"$program" "--seeds=$corpus"
readers=("$@")
if [ ${#readers[@]} -eq 0 ]; then mapfile -t readers < <("$program" --list); fi
for reader in "${readers[@]}"; do
  log=$corpus/$reader.log
  if "$program" "--reader=$reader" "$corpus/$reader" -max_total_time="$seconds" -max_len=8192 \
    -timeout=10 -rss_limit_mb=1024 -artifact_prefix="$corpus/$reader-" >"$log" 2>&1; then
    echo "$reader: $(sed -n 's/^Done \([0-9]*\) runs.*/\1 runs/p' "$log"), no finding"
  else
    tail -n 40 "$log" >&2
    echo "$reader: a finding" >&2
    exit 1
  fi
done
