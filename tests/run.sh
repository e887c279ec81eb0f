#!/usr/bin/env bash
# Every check there is, in one command. Installs what is missing, then: format and lint, the sanitizer
# builds and their tests, the release build (CUDA too, if nvcc is there) and all its tests.
#   --full     adds the slow tests and clang-tidy over every file
#   --quick    only the release build and its tests
#   --smoke    only lint, what the quickstart builds, and a few tests: does it work on this system?
#   --strict   a warning of a compiler or of Doxygen is an error
#   --ci       what CI runs: --strict, reports in a browser, and the two commands of the README on a fresh Debian 13
#              (needs root)
#   --systems  instead of all that, the two commands on fresh systems and the build by every compiler
#              (tests/lab/systems/run.py); its options and names follow (--help)
#   --mutants  instead of all that, faults are planted one by one, and the tests must notice them (tests/lab/mutants/run.py);
#              parts and options follow (--help)
#   --fuzz MINUTES [TARGET...]  instead of all that, lets clang's libFuzzer try each reader of files for so long
#              (tests/lab/fuzz/run.sh); says where an input was put that one does not stand
#   --gpu      instead of all that, what needs a GPU (tests/lab/gpu/run.py): build, op cases, trainings, sanitizers, the
#              ledger of kernels, and a summary under tests/lab/gpu/results. Its options follow (--help). Exit 8: no GPU
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  --fuzz)
    if ! [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then
      echo "error: --fuzz wants a number of minutes: tests/run.sh --fuzz 10" >&2
      exit 2
    fi
    seconds=$((60 * $2))
    shift 2
    framework/cmake/install_packages.sh --tests
    [ $# != 0 ] || set -- archive cifar config csv image options plan_cache run_record safetensors state
    exec tests/lab/fuzz/run.sh "$seconds" "$@"
    ;;
  --gpu | --systems | --mutants)
    program=tests/lab/${1#--}/run.py
    shift
    command -v python3 >/dev/null || framework/cmake/install_packages.sh --tests
    exec python3 "$program" "$@"
    ;;
esac

full=no only='' strict=OFF systems=no
for word in "$@"; do
  case $word in
    --full) full=yes ;;
    --quick | --smoke) only=${word#--} ;;
    --strict) strict=ON ;;
    --ci) strict=ON systems=yes ;;
    -h | --help)
      sed -n '2,19s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "error: unknown option '$word'; known: --full --quick --smoke --strict --ci, and --fuzz, --systems, --mutants" \
        "and --gpu as the first one" >&2
      exit 2
      ;;
  esac
done
if [ "$only" = smoke ] && [ $full$systems != nono ]; then
  echo "error: --smoke is the few tests alone: it goes with neither --full nor --ci" >&2
  exit 2
fi
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

packages=--tests
[ $systems = no ] || packages=--browser
stage "packages" framework/cmake/install_packages.sh $packages
if [ "$only" != quick ]; then stage "format and lint" tests/lab/tools/lint.sh; fi
if [ "$strict" = ON ] && [ -z "$only" ]; then stage "API reference" tests/lab/tools/docs.sh; fi
if [ "$only" = smoke ]; then
  tests=(tests_core tests_tensor tests_kernels tests_runtime tests_conv tests_learner)
  stage "release: build" framework/cmake/build.sh release learn "${tests[@]}"
  some=$(IFS='|' && echo "${tests[*]}")
  stage "release: some of the tests" quiet_ctest release --label-exclude slow --tests-regex "^($some):"
  exit
fi
if [ "$only" != quick ]; then
  stage "address and undefined-behaviour sanitizers: build" framework/cmake/build.sh asan
  # But for two that take a quarter of the time, and what they call others call too; and for tools, which are no part of it.
  stage "address and undefined-behaviour sanitizers: tests" quiet_ctest asan --label-exclude slow \
    --exclude-regex '^tools: |models of the zoo are exported|resume end to end'
  stage "thread sanitizer: build" framework/cmake/build.sh tsan tests_core tests_data
  # But for cases that bring a single thread tens of megabytes: they took nine tenths of the time.
  stage "thread sanitizer: tests" quiet_ctest tsan --tests-regex '^tests_(core|data):' --label-exclude slow \
    --exclude-regex 'cifar: |CIFAR|far more than it has'
  stage "fuzzing: 6 s for each reader of files" tests/lab/fuzz/run.sh 6
  if [ $full = yes ]; then stage "clang-tidy" tests/lab/tools/tidy.sh; fi
fi
if [ $systems = yes ]; then
  stage "fresh Debian 13: the two commands, and clang" python3 tests/lab/systems/run.py --quick debian13 debian13:clang-19
fi
# Apps and tests as quickly as they compile; the libraries as users have them.
[ $systems = no ] || LEARN_CMAKE_ARGS+=" -DLEARN_UNITY=APPS"
stage "release: build" framework/cmake/build.sh release
exclude=slow
[ $full = no ] || exclude='^$'
# Without a GPU its tests report "skipped", with the reason, and are counted; --gpu is where that is a failure.
echo "== release: tests"
export LEARN_ERROR_LOG=$PWD/build/release.errors.log # framework/core/error.h writes it
rm -f "$LEARN_ERROR_LOG"
run_ctest release --label-exclude "$exclude" --quiet --output-log build/release.tests.log || {
  print_failures build/release.tests.log
  exit 1
}
echo "all checks: $((SECONDS - began)) s"
# The runner's own summary; skipped tests are listed below it.
sed -n '/tests passed/,$p' build/release.tests.log
kernels=build/release/lib/liblearn_cuda.so built=()
if [ -f "$kernels" ]; then python3 tests/lab/gpu/kernel_ledger.py check "$kernels"; else built=(--without-cuda); fi
if [ "$only" != quick ]; then python3 tests/lab/tools/check_errors.py "$LEARN_ERROR_LOG" "${built[@]}"; fi
