#!/usr/bin/env bash
# `cmake --install` puts a program and its licence somewhere; the program runs from anywhere.
set -euo pipefail
program=$1
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

build_dir=$(dirname "$(dirname "$program")")
cmake --install "$build_dir" --prefix "$prefix" >"$prefix/log" 2>&1 || fail "$(cat "$prefix/log")"
[ -x "$prefix/bin/stepsight" ] || fail "no program under bin/"
[ -n "$(find "$prefix" -name LICENSE)" ] || fail "no licence"
cd /
version=$("$prefix/bin/stepsight" --version)
[[ $version =~ ^stepsight\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "strange version: $version"
echo "install: good"
