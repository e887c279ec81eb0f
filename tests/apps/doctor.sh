#!/usr/bin/env bash
# Tests the report of `learn doctor` on CUDA: doctor.sh PATH/TO/learn PATH/TO/libfakecuda.so.
# shellcheck disable=SC1091,SC2154  # checks.sh is there, and gives learn and status
fake=$(realpath "$2")  # before the folder changes
source "$(dirname "$0")/checks.sh"

# row NAME TEXT: the table's row of that name holds the text.
row() { grep -E -- "^ *$1  " out | grep -qF -- "$2"; }
no_row() { ! grep -qE "^ *$1 " out; }

run doctor --seconds 0
check "the machine is reported" exits 0
check "with the version this was built with" row "cuda driver" "built with CUDA "
check "with cuDNN" row "cuDNN" "9."
check "and where it lies" row "cuDNN" "/libcudnn.so.9"
check "with cuBLASLt" row "cuBLASLt" "."
if [ ! -e /dev/nvidia0 ]; then
  check "that there is no device, and why" row "cuda" "none: no "
  check "what auto chooses, and why" row "--device auto" "cpu"
  check "no GPUs for ranks" no_row "gpu ranks"
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

# ranks_with SETTING... -- NAME TEXT: with these settings, the row has exactly this text.
ranks_with() {
  local settings=()
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  env LD_PRELOAD="$fake" "${settings[@]}" "$learn" doctor --seconds 0 >out 2>err </dev/null
  check "$2 with ${settings[*]}" grep -qxE -- " *$2 +${3//[()]/.}" out
}
nvlink="NVLink (peer access with atomics, performance rank 0)"
ranks_with FAKE_CUDA_DEVICES=1 -- "gpu ranks" "one on this host: cuda:0"
check "one GPU has no links" no_row "gpu links"
ranks_with FAKE_CUDA_DEVICES=2 -- "gpu ranks" "up to 2 on this host: cuda:0 to cuda:1"
ranks_with FAKE_CUDA_DEVICES=2 -- "gpu links" "cuda:0-1: $nvlink"
ranks_with FAKE_CUDA_DEVICES=2 FAKE_CUDA_LINKS=pcie -- "gpu links" "cuda:0-1: PCIe (peer access without atomics, performance rank 0)"
ranks_with FAKE_CUDA_DEVICES=2 FAKE_CUDA_LINKS=host -- "gpu links" "cuda:0-1: through host memory (no peer access)"
ranks_with FAKE_CUDA_DEVICES=8 -- "gpu ranks" "up to 8 on this host: cuda:0 to cuda:7"
ranks_with FAKE_CUDA_DEVICES=8 -- "gpu links" "cuda:0-7: $nvlink"
ranks_with FAKE_CUDA_DEVICES=8 FAKE_CUDA_LINKS=nvlink,4,pcie -- "gpu links" \
  "cuda:0-3, cuda:4-7: $nvlink; all others: PCIe (peer access without atomics, performance rank 1)"
ranks_with FAKE_CUDA_DEVICES=8 FAKE_CUDA_LINKS=nvlink,2,host -- "gpu links" \
  "cuda:0-1, cuda:2-3, cuda:4-5, cuda:6-7: $nvlink; all others: through host memory (no peer access)"
eighth=(FAKE_CUDA_DEVICES=8 RANK=13 WORLD_SIZE=16 LOCAL_RANK=5 MASTER_ADDR=nodea MASTER_PORT=29500)
ranks_with "${eighth[@]}" -- "gpu ranks" "up to 8 on this host: cuda:0 to cuda:7; rank 13 uses cuda:5"
ranks_with "${eighth[@]}" FAKE_CUDA_DEVICES=1 -- "gpu ranks" "one on this host: cuda:0; rank 13 uses cuda:0"
ranks_with "${eighth[@]}" FAKE_CUDA_DEVICES=2 -- "gpu ranks" \
  "up to 2 on this host: cuda:0 to cuda:1; rank 13 has no GPU: device 'cuda:5' is not available: there are 2 CUDA devices, numbered from 0"

export LD_PRELOAD=$fake FAKE_CUDA_CAPABILITY=7.5
run train --device cuda --data synthetic10
unset LD_PRELOAD FAKE_CUDA_CAPABILITY
check "a GPU that is too old is status 8" exits 8
check "with its capability and what is needed" complains "has compute capability 7.5; 8.0 is needed"

conclude
