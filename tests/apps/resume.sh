#!/usr/bin/env bash
# A run that is stopped and resumed, against one that never stops: resume.sh PATH/TO/learn. Prints what failed; exit
# status 1 then.
# shellcheck disable=SC1091,SC2034,SC2154,SC2317  # checks.sh is there, gives learn, and calls the functions below
source "$(dirname "$0")/checks.sh"
options=(--data synthetic10 --train-limit 256 --valid-limit 64 --model small --width 4 --batch-size 16 --epochs 4
         --threads 1 --workers 1 --precision fp16 --accumulate 3 --augment full)

# in_folder FOLDER ARGUMENT...: the program with these arguments, in that folder.
in_folder() {
  local where=$1
  shift
  (cd "$where" && exec "$learn" "$@") >out 2>err </dev/null
  status=$?
}
lacks() { ! grep -qF -- "$1" err; }
# The weights of the best epoch, byte for byte, and the table without its times.
same() {
  local table
  for table in straight "$1"; do cut -d, -f1,3-6 "$table/runs/train/results.csv" >"$table.table"; done
  cmp straight/runs/train/weights/best.safetensors "$1/runs/train/weights/best.safetensors" &&
    cmp straight.table "$1.table"
}
# stop FOLDER SIGNAL: starts a run, and sends the signal after the first checkpoint.
stop() {
  mkdir "$1"
  (cd "$1" && exec "$learn" train "${options[@]}") >out 2>err </dev/null &
  local pid=$!
  for _ in $(seq 600); do [ -s "$1/runs/train/weights/last.safetensors" ] && break; sleep 0.05; done
  kill "-$2" "$pid"
  wait "$pid" 2>/dev/null
  status=$?
}

mkdir straight
in_folder straight train "${options[@]}"
check "a run that never stops" exits 0

stop interrupted INT
check "an interrupt" exits 130
check "says how to go on" says "learn train --resume runs/train"
cp -r interrupted damaged
check "with its configuration" grep -qxF "batch-size = 16" interrupted/runs/train/config.toml
sed -i 's/^batch-size = 16$/batch-size = 3/' interrupted/runs/train/config.toml
in_folder interrupted train --resume last --workers 0
check "an edited configuration is said not to count" complains "batch-size: 3 in the file, 16 in the checkpoint"
check "and replaced" grep -qxF "batch-size = 16" interrupted/runs/train/config.toml
check "it is resumed" exits 0
check "and says where" complains "resumed after"
check "it leaves what the other one left" same interrupted
check "and its record says so" grep -q '"at": "2' interrupted/runs/train/run.json
check "which keeps the call that began it" grep -q '"--accumulate"' interrupted/runs/train/run.json

stop killed KILL
check "a run that was killed" exits 137
cp -r killed prefetching
in_folder killed train "${options[@]}" --resume runs/train
check "is resumed from the end of an epoch, options repeated" exits 0
check "leaves the same" same killed

cp killed/runs/train/run.json before.json
cp killed/runs/train/results.csv killed.before.csv
in_folder killed train --resume runs/train
check "a finished run has nothing left to do" exits 0
check "says how to train longer" says "learn train --resume runs/train --extend EPOCHS"
check "and stays as it is" cmp before.json killed/runs/train/run.json
in_folder killed train --resume runs/train --extend 2 --lr 0.001 --schedule cosine
check "but can be extended" exits 0
check "which is said" complains "extends a run of 4 epochs by 2"
check "by epochs of their own" test "$(cut -d, -f1 killed/runs/train/results.csv | tr '\n' ' ')" = "epoch 1 2 3 4 5 6 "
check "after those that it had" cmp <(head -n 5 killed/runs/train/results.csv) <(head -n 5 killed.before.csv)
check "and is finished then" grep -q '"epochs_done": 6' killed/runs/train/run.json
check "of as many" grep -q '"epochs": 6' killed/runs/train/run.json
in_folder killed train --resume runs/train --extend 1 --batch-size 8
check "other options than those of the schedule are refused" exits 2
check "and named" complains "--batch-size: 16 then, 8 now"
in_folder killed train --extend 1
check "there must be a run to extend" exits 2
in_folder damaged train --resume runs/train --extend 1
check "and a finished one" exits 2
check "or it says what to do" complains "resume it without --extend first"
(cd killed && exec "$learn" train --resume runs/train --extend 3) >out 2>err </dev/null &
pid=$!
for _ in $(seq 600); do grep -q '^7,' killed/runs/train/results.csv && break; sleep 0.05; done
kill -INT "$pid"
wait "$pid" 2>/dev/null
in_folder killed train --resume runs/train
check "an extension that is interrupted is resumed" exits 0
check "to its own end" test "$(tail -n 1 killed/runs/train/results.csv | cut -d, -f1)" = 9

in_folder killed train --resume last --model resnet9 --batch-size 8 --threads 2
check "other options are refused" exits 2
check "the model is named" complains '--model: "small" then, "resnet9" now'
check "the batch size too" complains '--batch-size: 16 then, 8 now'
in_folder killed train --resume nowhere
check "no run: status 4" exits 4
mkdir -p killed/runs/empty
in_folder killed train --resume runs/empty
check "an empty folder: status 4" exits 4
check "says what a run has" complains "'runs/empty' is not the folder of a run: it has no run.json and no weights"
mkdir -p killed/runs/begun/weights
in_folder killed train --resume begun
check "no checkpoint: status 4" exits 4
check "says which is missing" complains "'runs/begun' holds no 'weights/last.safetensors'"
in_folder straight train --resume last --dry-run
check "a dry run resumes nothing" exits 2

# Stopped in fp16, which has a loss scale, and resumed without one.
cp -r damaged crossing
in_folder crossing train --resume last --precision bf16 --loss-scale 8
check "bf16 has no loss scale" exits 2
in_folder crossing train --resume last --loss-scale 8
check "fp16 keeps its own" exits 2
check "which is named" complains '--loss-scale: "dynamic" then, "8" now'
in_folder crossing train --resume last --precision bf16
check "a run in fp16 is resumed in bf16" exits 0
check "from where it was" complains "resumed after"
check "it says so" complains "the state was saved in fp16 with a loss scale of 65536 and continues in bf16, without one"
check "its log too" grep -q "and continues in bf16" crossing/runs/train/run.log
check "its configuration is of bf16" grep -q '^precision = "bf16"' crossing/runs/train/config.toml
check "and its record, as is that of the resume" \
  test "$(grep -c '"precision": "bf16"' crossing/runs/train/run.json)" = 2
check "it has all epochs" test "$(cut -d, -f1 crossing/runs/train/results.csv | tr '\n' ' ')" = "epoch 1 2 3 4 "
check "the first as they were" cmp <(head -n 2 crossing/runs/train/results.csv) <(head -n 2 damaged/runs/train/results.csv)
in_folder crossing eval runs/train
check "it can be measured" exits 0
in_folder crossing train --resume last --extend 1 --opt-level O1
check "and is extended under autocast" exits 0
check "which is said" complains "the state was saved in bf16 and continues in fp16-amp, with a loss scale of 65536"
in_folder crossing train --resume last --extend 1
check "where it stays" exits 0
check "in silence" lacks "a different training"

in_folder prefetching train --resume last --prefetch 3
check "a resumed run may prefetch more" exits 0
in_folder prefetching train --resume last --extend 1 --workers 0
check "and none with no workers, which nobody contradicts" exits 0
check "that is said" complains "[options] prefetch = 3 is ignored"
check "in silence otherwise" lacks "was changed"

damage() { head -c 3000 "damaged/runs/train/weights/$1.safetensors" >half && mv half "damaged/runs/train/weights/$1.safetensors"; }
damage last
cp -r damaged damaged-twice
in_folder damaged train --resume last
check "of a damaged last state" exits 0
check "it says which" complains "last.safetensors"
check "and resumes from the one before it" complains "resuming from the previous state, 'runs/train/weights/last.prev.safetensors'"
check "with the same bits" same damaged
check "the damaged one is still there" test -s damaged/runs/train/weights/last.damaged.safetensors
rm -r damaged
mv damaged-twice damaged
damage last.prev
in_folder damaged train --resume last
check "two damaged states: status 4" exits 4
check "both are named" complains "last.prev.safetensors"

# A new run in the folder of another, killed before it has saved anything.
(cd killed && exec "$learn" train "${options[@]}" --model resnet9 --train-limit 4000 --exist-ok) >out 2>err </dev/null &
pid=$!
for _ in $(seq 600); do grep -qs resnet9 killed/runs/train/run.json && break; sleep 0.05; done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
in_folder killed eval runs/train
check "its predecessor is not measured in its place: status 4" exits 4
in_folder killed train --resume runs/train
check "nor resumed: status 4" exits 4
in_folder killed eval runs/train/former-1
check "but it is kept" exits 0

conclude
