#!/usr/bin/env bash
# Tests the report of `learn doctor` on CUDA: doctor.sh PATH/TO/learn PATH/TO/libfakecuda.so.
# shellcheck disable=SC1091,SC2154  # checks.sh is there, and gives learn and status
fake=$(realpath "$2")  # before the folder changes
source "$(dirname "$0")/checks.sh"

# row NAME TEXT: the table's row of that name holds the text.
row() { grep -E -- "^ *$1  " out | grep -qF -- "$2"; }

run doctor --seconds 0
check "the machine is reported" exits 0
check "with the version this was built with" row "cuda driver" "built with CUDA "
check "with cuDNN" row "cuDNN" "9."
check "and where it lies" row "cuDNN" "/libcudnn.so.9"
check "with cuBLASLt" row "cuBLASLt" "."
if [ ! -e /dev/nvidia0 ]; then
  check "that there is no device, and why" row "cuda" "none: no "
  check "what auto chooses, and why" row "--device auto" "cpu"
  run train --device cuda --data synthetic10
  check "a device that is not there is status 8" exits 8
  check "with the reason" complains "device 'cuda' is not available: no "
fi

export LD_PRELOAD=$fake
run doctor --seconds 0
unset LD_PRELOAD
check "with a GPU" exits 0
check "it is counted" row "cuda" "1 device(s)"
check "and described" row "cuda:0" "FAKE (no GPU), "
check "with its capability" row "cuda:0" "compute capability 9.0"
check "auto takes it" row "--device auto" "cuda:0: FAKE (no GPU)"

export LD_PRELOAD=$fake FAKE_CUDA_CAPABILITY=7.5
run train --device cuda --data synthetic10
unset LD_PRELOAD FAKE_CUDA_CAPABILITY
check "a GPU that is too old is status 8" exits 8
check "with its capability and what is needed" complains "has compute capability 7.5; 8.0 is needed"

conclude
