#!/usr/bin/env bash
# with_isa.sh baseline|avx2|avx512|avx512_bf16|amx PROGRAM...: the programs' tests with the CPU kernels of that
# instruction set. Exit status 77, skipped, where the machine lacks it, and where it is the best one, which the programs
# take by themselves.
set -euo pipefail
wanted=$1
shift
best=baseline
known=no
for isa in baseline avx2 avx512 avx512_bf16 amx; do
  case $isa in
  avx512) flag=avx512f ;;
  amx) flag=amx_bf16 ;;
  *) flag=$isa ;;
  esac
  if [ "$isa" = baseline ] || grep -qw "$flag" /proc/cpuinfo; then
    best=$isa
    [ "$isa" != "$wanted" ] || known=yes
  fi
done
if [ $known = no ]; then
  echo "skipped: this machine has no $wanted"
  exit 77
fi
if [ "$wanted" = $best ]; then
  echo "skipped: $wanted is the best that this machine has, and what the other tests run"
  exit 77
fi
for program in "$@"; do LEARN_ISA=$wanted "$program" --test-suite-exclude=slow; done
