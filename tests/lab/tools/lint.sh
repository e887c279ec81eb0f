#!/usr/bin/env bash
# Format of C++ and shell, layering, sizes: everything about the text that takes seconds.
set -euo pipefail
cd "$(dirname "$0")/../../.."

rooms=(framework callbacks models data apps tests)
mapfile -t sources < <(find "${rooms[@]}" -path tests/golden -prune -o \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print)
format=$(command -v clang-format-14 || command -v clang-format)
case $("$format" --version) in
  *"version 14."*) "$format" --dry-run -Werror "${sources[@]}" ;;
  *) echo "note: $("$format" --version) is not version 14; the format was not checked" ;;
esac
mapfile -t scripts < <(find "${rooms[@]}" -name '*.sh'; echo .ci/run)
shellcheck "${scripts[@]}"
python3 tests/lab/tools/check_layers.py
python3 tests/lab/tools/check_sources.py
python3 tests/lab/tools/check_words.py
python3 tests/lab/tools/check_errors.py --list
