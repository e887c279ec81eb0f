#!/usr/bin/env bash
# Training, evaluation and resuming with --device cuda, on the fake CUDA runtime: cuda.sh PATH/TO/learn
# PATH/TO/libfakecuda.so. Prints what failed; exit status 1 then.
# shellcheck disable=SC1091,SC2154,SC2317  # checks.sh is there, gives learn and status, and calls the functions below
fake=$(realpath "$2")  # before the folder changes
source "$(dirname "$0")/checks.sh"
options=(--data synthetic10 --train-limit 24 --valid-limit 16 --model small --width 4 --batch-size 8 --epochs 2
         --threads 1 --precision fp16 --cuda-graph)

on_fake() { LD_PRELOAD=$fake FAKE_CUDA_STREAMS=late run "$@"; }
accuracy() { grep -oE 'accuracy +[0-9.]+' out | grep -oE '[0-9.]+'; }

on_fake train "${options[@]}" --device cuda
check "a training on CUDA" exits 0
check "names its device" complains "cuda:0"
check "leaves weights" test -s runs/train/weights/best.safetensors

on_fake eval runs/train --device cuda
check "an evaluation on CUDA" exits 0
there=$(accuracy)
run eval runs/train --device cpu
check "and of the same weights on the CPU" exits 0
check "give the same accuracy" test -n "$there" -a "$there" = "$(accuracy)"

on_fake train "${options[@]}" --device cuda --name more --epochs 1 --workers 5 --prefetch 3
check "batches that the device makes have no workers" complains "--workers 5 has no effect"
check "and are not fetched ahead" complains "--prefetch 3 has no effect"

sed -i 's/"finished"/"running"/' runs/train/run.json  # as if it was killed after its last checkpoint
run train --resume runs/train --device cpu
check "the CPU takes over what CUDA has left" exits 0
check "and finds nothing more to do" complains "resumed after 6 of 6 batches"

conclude
