#!/usr/bin/env bash
# with_isa.sh baseline|avx2|avx512|avx512_bf16|amx PROGRAM...: the programs' tests with the CPU kernels of that
# instruction set. Exit status 77, skipped, where the machine lacks it.
set -euo pipefail
isa=$1
shift
case $isa in
avx512) flag=avx512f ;;
amx) flag=amx_bf16 ;;
*) flag=$isa ;;
esac
if [ "$isa" != baseline ] && ! grep -qw "$flag" /proc/cpuinfo; then
  echo "skipped: this machine has no $isa"
  exit 77
fi
for program in "$@"; do LEARN_ISA=$isa "$program" --test-suite-exclude=slow; done
