#!/usr/bin/env bash
# build.sh PRESET [TARGET ...]: configures and builds with as many jobs as cores and memory allow.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=$1
shift
cores=$(nproc)
# One compiler takes up to 1.5 GiB on the heaviest files.
by_memory=$(awk '/MemAvailable/ {print int($2 / 1024 / 1024 / 1.5)}' /proc/meminfo)
jobs=$((by_memory < cores ? by_memory : cores))
[ "$jobs" -ge 1 ] || jobs=1

log=build/$preset.log
mkdir -p build
if ! { cmake --preset "$preset" >"$log" 2>&1 &&
  cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"} >>"$log" 2>&1; }; then
  grep -E 'error|Error|FAILED|undefined' "$log" | head -40 >&2 || true
  tail -20 "$log" >&2
  echo "error: the build failed; everything is in $log" >&2
  exit 1
fi
