#!/usr/bin/env bash
# build.sh PRESET [TARGET ...]: configures and builds with as many jobs as cores and memory allow.
#   CXX=clang++-19       the compiler, for a build folder that is new
#   LEARN_CMAKE_ARGS=... further words for CMake, as in -DLEARN_WARNINGS_AS_ERRORS=ON
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=$1
shift

# An older CMake rejects the presets' version with a message that does not name the remedy.
needed=$(sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\)).*/\1/p' CMakeLists.txt)
found=$(cmake --version | sed -n '1s/^cmake version //p')
older=$(printf '%s\n' "$needed" "$found" | sort -t. -k1,1n -k2,2n -k3,3n | head -1)
if [ "$older" != "$needed" ]; then
  echo "error: CMake $found is too old, $needed is needed: python3 -m pip install 'cmake>=$needed'" \
    "(or snap install cmake --classic), then run this again" >&2
  exit 1
fi

jobs=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) # macOS has no nproc
if [ -r /proc/meminfo ]; then
  # One compiler process takes up to 1.5 GiB for the heaviest files.
  by_memory=$(awk '/MemAvailable/ {print int($2 / 1024 / 1024 / 1.5)}' /proc/meminfo)
  jobs=$((by_memory < jobs ? by_memory : jobs))
  [ "$jobs" -ge 1 ] || jobs=1
fi

log=build/$preset.log
mkdir -p build
# shellcheck disable=SC2086 # they are words
if ! { cmake --preset "$preset" ${LEARN_CMAKE_ARGS:-} >"$log" 2>&1 &&
  cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"} >>"$log" 2>&1; }; then
  grep -E 'error|Error|FAILED|undefined' "$log" | head -40 >&2 || true
  tail -20 "$log" >&2
  echo "error: the build failed; the complete output is in $log" >&2
  exit 1
fi
