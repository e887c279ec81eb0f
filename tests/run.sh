#!/usr/bin/env bash
# Every check there is, in one command. Installs what is missing, then: format and lint, the sanitizer
# builds and their tests, the release build (CUDA too, if nvcc is there) and all its tests.
#   --full   adds the slow tests and clang-tidy over every file
#   --quick  only the release build and its tests
#   --gpu    instead of all that, what needs a GPU (tests/gpu/run.py): build, op cases, trainings, sanitizers, the
#            ledger of kernels, and a summary under tests/gpu/results. Its options follow (--help). Exit 8: no GPU
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --gpu ]; then
  shift
  command -v python3 >/dev/null || framework/cmake/install_packages.sh --tests
  exec python3 tests/gpu/run.py "$@"
fi

full=no quick=no
for word in "$@"; do
  case $word in
    --full) full=yes ;;
    --quick) quick=yes ;;
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "error: unknown option '$word'; known: --full --quick, and --gpu as the first one" >&2
      exit 2
      ;;
  esac
done

began=$SECONDS
stage() {
  local from=$SECONDS
  echo "== $1"
  shift
  "$@"
  echo "   $((SECONDS - from)) s"
}
run_ctest() { # preset, then words for ctest
  local preset=$1
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"
}
quiet_ctest() {
  run_ctest "$@" >"build/$1.tests.log" 2>&1 || {
    tail -60 "build/$1.tests.log"
    return 1
  }
  grep -E 'tests passed' "build/$1.tests.log"
}

stage "packages" framework/cmake/install_packages.sh --tests
if [ $quick = no ]; then
  stage "format and lint" tests/tools/lint.sh
  stage "address and undefined-behaviour sanitizers: build" framework/cmake/build.sh asan
  stage "address and undefined-behaviour sanitizers: tests" quiet_ctest asan --label-exclude slow
  stage "thread sanitizer: build" framework/cmake/build.sh tsan tests_core tests_data
  stage "thread sanitizer: tests" quiet_ctest tsan --tests-regex '^tests_(core|data):' --label-exclude slow
  if [ $full = yes ]; then stage "clang-tidy" tests/tools/tidy.sh; fi
fi
stage "release: build" framework/cmake/build.sh release
exclude=slow
[ $full = no ] || exclude='^$'
# Without a GPU its tests report "skipped", with the reason, and are counted; --gpu is where that is a failure.
echo "== release: tests"
run_ctest release --label-exclude "$exclude" --quiet --output-log build/release.tests.log || {
  cat build/release.tests.log
  exit 1
}
echo "all checks: $((SECONDS - began)) s"
# The runner's own summary; skipped tests are listed below it.
sed -n '/tests passed/,$p' build/release.tests.log
kernels=build/release/lib/liblearn_cuda.so
if [ -f "$kernels" ]; then python3 tests/gpu/kernel_ledger.py check "$kernels"; fi
