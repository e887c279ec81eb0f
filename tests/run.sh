#!/usr/bin/env bash
# Builds and tests. Installs missing packages, and ends with the summary of the test runner. The times are of a first run on
# two cores.
#
#   tests/run.sh           format, lint, the release build and the tests of the libraries (8 minutes)
#   tests/run.sh tests_core tests_nn...  the same, with these test programs only
#   tests/run.sh --quick   the whole release build, with CUDA if nvcc is installed, and all its tests (16 minutes)
#   tests/run.sh --all     --quick, lint, the builds with sanitizers and their tests, and fuzzing (37 minutes)
#   tests/run.sh --full    --all, the slow tests, and clang-tidy over every file
#   tests/run.sh --ci      the stages of CI: --all --strict, reports in a browser, and the two commands of the README on a
#                          fresh Debian 13 (needs root; 50 minutes)
#   --strict               treats warnings of the compiler and of Doxygen as errors
#
# Other modes, with their own options (see --help of each):
#   --ledgers [NAME...]    rewrites the records of properties of the sources and their machine code, and prints the difference
#   --systems [NAME...]    runs the two commands on fresh systems, and builds with every compiler
#   --mutants [PART...]    mutation testing: plants faults one by one, which the tests must detect
#   --fuzz MINUTES [TARGET...]  fuzzes each reader of files with clang's libFuzzer
#   --gpu                  runs everything that needs a GPU, with a summary under tests/lab/gpu/results; exit code 8 without one
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  --fuzz)
    if ! [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then
      echo "error: --fuzz needs a number of minutes: tests/run.sh --fuzz 10" >&2
      exit 2
    fi
    seconds=$((60 * $2))
    shift 2
    framework/cmake/install_packages.sh --tests
    [ $# != 0 ] || set -- archive cifar config csv image options plan_cache run_record safetensors state
    exec tests/lab/fuzz/run.sh "$seconds" "$@"
    ;;
  --gpu | --systems | --mutants | --ledgers)
    program=tests/lab/${1#--}/run.py
    [ "$1" != --ledgers ] || program=tests/lab/tools/ledgers.py
    shift
    command -v python3 >/dev/null || framework/cmake/install_packages.sh --lint
    exec python3 "$program" "$@"
    ;;
esac

mode=default strict=OFF programs=()
for word in "$@"; do
  case $word in
    --strict) strict=ON ;;
    --quick | --all | --full | --ci)
      if [ "$mode" != default ]; then
        echo "error: --$mode and $word cannot be combined: give one of them" >&2
        exit 2
      fi
      mode=${word#--}
      ;;
    tests_*) programs+=("$word") ;;
    -h | --help)
      sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "error: unknown argument '$word'; known: --quick --all --full --ci --strict, test programs, and as the first word --ledgers," \
        "--systems, --mutants, --fuzz and --gpu" >&2
      exit 2
      ;;
  esac
done
if [ ${#programs[@]} != 0 ] && [ "$mode" != default ]; then
  echo "error: --$mode runs all test programs: omit ${programs[*]}, or --$mode" >&2
  exit 2
fi
[ "$mode" != ci ] || strict=ON
case $mode in default | quick) all=no ;; *) all=yes ;; esac
export LEARN_CMAKE_ARGS="${LEARN_CMAKE_ARGS:-} -DLEARN_WARNINGS_AS_ERRORS=$strict"

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
# What the failed tests printed, and their names: without the list of skipped tests, which stands after it in the log.
print_failures() { # log
  awk '/^ *Start +[0-9]+: | Passed |\*\*\*Skipped|% tests passed/ { failed = 0 }
       /^ *[0-9]+\/[0-9]+ Test +#.*\*\*\*/ && !/\*\*\*Skipped/ { failed = 1 }
       failed' "$1"
  grep '% tests passed' "$1"
  sed -n '/The following tests FAILED/,/^$\|^\[\|^Errors/p' "$1"
}
quiet_ctest() {
  run_ctest "$@" >"build/$1.tests.log" 2>&1 || {
    print_failures "build/$1.tests.log"
    return 1
  }
  grep -E 'tests passed' "build/$1.tests.log"
}

case $mode in default) packages=--lint ;; ci) packages=--browser ;; *) packages=--tests ;; esac
stage "packages" framework/cmake/install_packages.sh $packages
if [ "$mode" != quick ]; then stage "format and lint" tests/lab/tools/lint.sh; fi
if [ "$mode" = default ]; then
  stage "release: build" framework/cmake/build.sh release "${programs[@]:-library_tests}"
  pattern=$(IFS='|' && echo "${programs[*]}")
  echo "== release: tests"
  run_ctest release --label-exclude slow --tests-regex "^(${pattern:-$(cat build/release/library_tests)}):" --quiet \
    --output-log build/release.tests.log || {
    print_failures build/release.tests.log
    exit 1
  }
  echo "took $((SECONDS - began)) s; more: tests/run.sh --quick (everything of the release build), --all (sanitizers, too)"
  sed -n '/tests passed/,$p' build/release.tests.log
  exit
fi
if [ $strict$all = ONyes ]; then stage "API reference" tests/lab/tools/docs.sh; fi
if [ $all = yes ]; then
  stage "address and undefined-behaviour sanitizers: build" framework/cmake/build.sh asan
  # But for two that take a quarter of the time, and what they call others call too; and for tools, which are no part of it.
  stage "address and undefined-behaviour sanitizers: tests" quiet_ctest asan --label-exclude slow \
    --exclude-regex '^tools: |models of the zoo are exported|resume end to end'
  stage "thread sanitizer: build" framework/cmake/build.sh tsan tests_core tests_data
  # But for cases that bring a single thread tens of megabytes: they took nine tenths of the time.
  stage "thread sanitizer: tests" quiet_ctest tsan --tests-regex '^tests_(core|data):' --label-exclude slow \
    --exclude-regex 'cifar: |CIFAR|far more than it has'
  stage "fuzzing: 6 s for each reader of files" tests/lab/fuzz/run.sh 6
fi
if [ "$mode" = full ]; then stage "clang-tidy" tests/lab/tools/tidy.sh; fi
if [ "$mode" = ci ]; then
  stage "fresh Debian 13: the two commands, and clang" python3 tests/lab/systems/run.py --quick debian13 debian13:clang-19
fi
stage "release: build" framework/cmake/build.sh release
exclude=slow
[ "$mode" != full ] || exclude='^$'
# Without a GPU its tests report "skipped", with the reason, and are counted; --gpu is where that is a failure.
echo "== release: tests"
export LEARN_ERROR_LOG=$PWD/build/release.errors.log # framework/core/error.h writes it
rm -f "$LEARN_ERROR_LOG"
run_ctest release --label-exclude "$exclude" --quiet --output-log build/release.tests.log || {
  print_failures build/release.tests.log
  exit 1
}
kernels=build/release/lib/liblearn_cuda.so built=()
if [ -f "$kernels" ]; then python3 tests/lab/gpu/kernel_ledger.py check "$kernels"; else built=(--without-cuda); fi
if [ $all = yes ]; then python3 tests/lab/tools/check_errors.py "$LEARN_ERROR_LOG" "${built[@]}"; fi
echo "all checks: $((SECONDS - began)) s"
# The runner's own summary; skipped tests are listed below it.
sed -n '/tests passed/,$p' build/release.tests.log
