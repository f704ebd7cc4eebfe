#!/usr/bin/env bash
# scripts_can_fail.sh PROGRAM SOURCE_DIR: `set -e` passes over a command behind `!`, whatever it returns: such a
# line looks like a check and is none. No script here has one.
set -euo pipefail
source_dir=$2
if grep -nE '^[[:space:]]*! ' "$source_dir"/tests/cli/*.sh "$source_dir"/tests/cli/*.bash |
  grep -vE '\|\||; then|\\$'; then
  echo "FAILED: these lines cannot fail; write: if COMMAND; then fail ...; fi" >&2
  exit 1
fi
