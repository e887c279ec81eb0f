#!/usr/bin/env bash
# Where the program finds the library of the CUDA backend, and what it does if it cannot be loaded: cuda_library.sh
# PATH/TO/learn liblearn_cuda.so libfakecuda.so STAND_IN_OF_ANOTHER_VERSION STAND_IN_WITHOUT_FUNCTIONS.
# shellcheck disable=SC1091,SC2154,SC2034,SC2317  # checks.sh is there, gives status, reads learn, calls the functions
library=$(realpath "$2") fake=$(realpath "$3") other_version=$(realpath "$4") empty=$(realpath "$5")
source "$(dirname "$0")/checks.sh"
built=$learn
tiny=(train --data synthetic10 --train-limit 16 --valid-limit 16 --model small --width 4 --batch-size 8 --epochs 1
      --threads 1)
# none TEXT: the table says that there is no CUDA, as the library cannot be loaded because of TEXT.
none() { grep '^cuda  ' out | grep -F "none: the CUDA backend cannot be loaded: " | grep -qF -- "$1"; }

run doctor --seconds 0
check "the library is found where it was built" grep -q '^cuda driver .*built with CUDA' out

# A machine without CUDA: libcudart.so.13 is nothing that the loader could take.
mkdir no_cuda
for name in $(ldd "$library" | grep -oE '^\s*libcudart[^ ]*'); do echo nothing >"no_cuda/$name"; done
export LD_LIBRARY_PATH=$folder/no_cuda
run doctor --seconds 0
check "without libcudart the program starts" exits 0
check "and says what it cannot load" none "libcudart"
run "${tiny[@]}" --device cuda
check "a device that was asked for is an error" exits 8
check "with the reason" complains "libcudart"
run "${tiny[@]}" --device auto
check "auto trains on the CPU" exits 0
# Python's packages may have it: pip's layout, in a virtual environment.
packages=$folder/venv/lib/python3.11/site-packages/nvidia/cu13/lib
mkdir -p "$packages"
VIRTUAL_ENV=$folder/venv run doctor --seconds 0
check "it names the folders of Python that it looked into" none "also searched Python's folders: $packages"
check "and what to install" none "(pip install nvidia-cuda-runtime"
real=$(env -u LD_LIBRARY_PATH ldd "$library" | awk '/libcudart/ { print $3 }')
ln -s "$real" "$packages/$(basename "$real")"
VIRTUAL_ENV=$folder/venv run doctor --seconds 0
check "a runtime in Python's folder serves" grep -q '^cuda driver .*built with CUDA' out
unset LD_LIBRARY_PATH

# beside LIBRARY: copies the program into a new folder, with that library.
beside() {
  rm -rf own && mkdir own && cp "$built" own/learn
  cp "$1" own/liblearn_cuda.so
  learn=$folder/own/learn
  run doctor --seconds 0
}
beside "$other_version"
check "a library of another version is refused" none "has version 0.0.0, but this program has "
beside "$empty"
check "so is one without the functions that are called" none "undefined symbol: _ZN"
beside "$0"
check "so is what is no library" none "invalid ELF header"

mkdir -p whole/bin whole/lib
cp "$built" whole/bin/ && cp "$library" whole/lib/
learn=$folder/whole/bin/learn
LD_PRELOAD=$fake run doctor --seconds 0
check "a program and its lib folder can be moved" grep -q '^cuda:0 .*FAKE (no GPU)' out

# The library writes to the log of the program: here of plans on disk that are damaged.
cached() { LD_PRELOAD=$fake run "${tiny[@]}" --device cuda --plan-cache plans --name "$1"; }
cached first
check "plans are kept" test -n "$(ls plans)"
for plan in plans/*; do head -1 "$plan" >key && mv key "$plan"; done  # nothing behind it
cached second
check "damaged ones are told of on the terminal" complains "ignoring the stored plan"
check "and in the run's log" grep -q "ignoring the stored plan" runs/second/run.log
cached third
check "once" test "$(grep -c 'ignoring' runs/third/run.log)" = 0

conclude
