#!/usr/bin/env bash
# clang-tidy over every C++ source of the build (that of the CUDA backend too, if nvcc is there), or over
# the files named.
set -euo pipefail
cd "$(dirname "$0")/../../.."

cmake --preset tidy >/dev/null
all_files() {
  python3 - <<'END'
import json, os
entries = json.load(open("build/tidy/compile_commands.json"))
files = {os.path.relpath(entry["file"]) for entry in entries}
print("\n".join(sorted(file for file in files if file.endswith(".cpp") and not file.startswith("build"))))
END
}
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(all_files); fi
# shellcheck disable=SC2016  # $1 belongs to the inner shell
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" sh -c '
  out=$(clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/tidy "$1" 2>/dev/null) || { echo "$out"; exit 1; }' sh
echo "clang-tidy: ${#files[@]} files are clean"
