#!/usr/bin/env bash
# run.sh SECONDS [TARGET...]: builds the fuzz targets (all but 'options' if none are named), gives each its corpus, then
# SECONDS of what libFuzzer makes of it, as many at a time as there are cores. Status 1: an input was found that a
# reader does not stand; it is kept, and how to see it again is said. 0 with a word why: no clang with libFuzzer here.
set -euo pipefail
cd "$(dirname "$0")/../../.."

seconds=$1
shift
targets=("$@")
[ $# != 0 ] || targets=(archive array cifar config csv image plan_cache run_record safetensors state)

probe=$(mktemp -d)
trap 'rm -r "$probe"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$probe/empty.cpp"
if ! clang++ -fsanitize=fuzzer,address,undefined "$probe/empty.cpp" -o "$probe/empty" >"$probe/log" 2>&1; then
  echo "skipped: no clang++ that links libFuzzer ($(head -1 "$probe/log"))"
  exit 0
fi

from=$SECONDS
framework/cmake/build.sh fuzz "${targets[@]/%/_fuzz}"
echo "built in $((SECONDS - from)) s"

fuzz() { # seconds target
  local folder=build/fuzz/found/$2 log=build/fuzz/$2.log inputs
  mkdir -p "$folder/corpus"
  # The limit of memory is more than twice what an archive may unpack to.
  if ASAN_OPTIONS=quarantine_size_mb=16 "build/fuzz/bin/$2_fuzz" -max_total_time="$1" -timeout=20 -rss_limit_mb=1024 \
    -artifact_prefix="$folder/" "$folder/corpus" "tests/lab/fuzz/corpus/$2" >"$log" 2>&1; then
    inputs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
    echo "$2: $inputs inputs, $(grep -o 'cov: [0-9]*' "$log" | tail -1)"
    return
  fi
  grep -E 'ERROR|SUMMARY|runtime error|^    #[0-9] .*learn' "$log" | head -12
  inputs=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
  echo "$2: FAILED; the whole report is in $log, the input in ${inputs:-the corpus}"
  echo "  see it again:  build/fuzz/bin/$2_fuzz ${inputs:-tests/lab/fuzz/corpus/$2/*}"
  echo "  once repaired: keep it as tests/lab/fuzz/corpus/$2/regression-WHAT"
  return 1
}
export -f fuzz
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c "fuzz $seconds {}"
