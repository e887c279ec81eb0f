#!/usr/bin/env bash
# clang-tidy over every C++ source, or over the files named. Needs a configured build for its flags.
set -euo pipefail
cd "$(dirname "$0")/../.."

cmake --preset tidy >/dev/null
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(find framework callbacks models data apps tests -name '*.cpp'); fi
# shellcheck disable=SC2016  # $1 belongs to the inner shell
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" sh -c '
  out=$(clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/tidy "$1" 2>/dev/null) || { echo "$out"; exit 1; }' sh
echo "clang-tidy: ${#files[@]} files are clean"
