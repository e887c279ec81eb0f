#!/usr/bin/env bash
# The program as a user types it: command_line.sh PATH/TO/learn. Prints what failed; exit status 1 then.
# shellcheck disable=SC1091,SC2034,SC2154  # checks.sh is there, and gives learn, status and folder
source "$(dirname "$0")/checks.sh"
tiny=(--data synthetic10 --train-limit 128 --valid-limit 64 --model small --width 4 --batch-size 32
      --epochs 2 --threads 1 --workers 1)

run --help
check "help of the program" exits 0
check "help lists the commands" says "eval"
run train --help
check "help of a command" exits 0
check "help shows defaults" says '[default: 128]'
run --version
check "version" says "learn "
run options ema
check "options of one thing are shown" exits 0
check "with range and default" says "0.999], in [0, 1)"
check "and where it is chosen" says "callback: --callbacks"
run options schedule
check "options of a kind are shown" says "one-cycle"
check "and of no other kind" test "$(grep -c '^[a-z]*: --' out)" = 1
run options
for kind in callback data model optimizer schedule; do check "options lists $kind" says "$kind: --$kind"; done
run options emma
check "an unknown name is refused" exits 2
check "with a suggestion" complains "did you mean 'ema'?"
run models --width 4
check "a width without a model is refused" exits 2
check "with the reason" complains "--width 4 needs the NAME of the model"
run models --precision fp16
check "a precision without a model is refused" exits 2
check "with the reason, too" complains "--precision and --keep-fp32 need the NAME of the model"
run train --resume runs/some --out elsewhere
check "a folder of runs beside the run itself is refused" exits 2
check "for it means nothing" complains "--out elsewhere has no effect: the run to resume is 'runs/some'"

run train "${tiny[@]}"
check "a training ends well" exits 0
check "it shows a table" says "epoch  train_loss  valid_loss"
check "it names the best epoch" says "best  epoch"
check "it says what it trains on" complains "(synthetic)"
check "no control characters without a terminal" lacks_controls
for file in config.toml run.json run.log results.csv results.png lr_schedule.png \
    weights/last.safetensors weights/best.safetensors; do
  check "the run holds $file" test -s "runs/train/$file"
done
check "results.csv has a row per epoch" test "$(wc -l <runs/train/results.csv)" = 3
check "run.json says finished" grep -q '"status": "finished"' runs/train/run.json
check "run.json says synthetic" grep -q '"synthetic": true' runs/train/run.json
check "latest points to the run" test "$(readlink runs/latest)" = train
cp runs/train/results.csv first.csv

run train -c runs/train/config.toml
check "the written configuration trains again" exits 0
check "in a folder of its own" test -d runs/train-2
# Columns 3 to 5: losses and accuracy; times differ.
check "and gives the same numbers" test "$(cut -d, -f1,3-6 first.csv)" = "$(cut -d, -f1,3-6 runs/train-2/results.csv)"

run train "${tiny[@]}" --name killed --precision fp16 --inject overflow@3,kill@6:step_begin
check "an injected kill is one" exits 137
check "faults are told" complains "[inject] batch 3: overflow"
run train --resume runs/killed
check "the killed run is resumed without its faults" exits 0
check "and ends" grep -q '"status": "finished"' runs/killed/run.json
run train "${tiny[@]}" --inject overflow@3,nam@4
check "a fault that there is not is refused" exits 2
check "with its place" complains "--inject: character 12 of 'overflow@3,nam@4': unknown fault 'nam'"

run eval runs/train --threads 1
check "a run can be measured" exits 0
best=$(awk -F, 'NR > 1 && $5 > best { best = $5 } END { printf "%.4f", best }' first.csv)
check "with the accuracy of its best epoch ($best)" says "accuracy $best"
run eval runs/train --weights last
check "and its last state too" exits 0
run eval runs/train/weights/best.safetensors
check "and a checkpoint alone" exits 0
run eval runs/train/weights/best.safetensors --weights last
check "of which there is nothing to choose" exits 2

run plot runs/train runs/train-2 --out both.svg
check "two runs are drawn in one plot" exits 0
check "each by its name" grep -q "runs/train-2: validation" both.svg
run plot runs/train --what schedule --out -q
check "a drawing needs an ending" exits 2
run plot runs/none
check "a run that is not there is no run" exits 4
run show-batch --data synthetic10 --train-limit 50 --out show.svg
check "a batch is drawn" grep -q "as they are, and in epochs 1 to 4" show.svg
run show-batch --data synthetic10 --train-limit 50 --out no/show.png
check "into a folder that there is" exits 5
run show-schedule --config runs/train/config.toml --out plan.svg
check "a schedule is told before it runs" says "momentum or beta1: from"
check "and drawn" grep -q "learning rate" plan.svg

run train "${tiny[@]}" --precision fp16 --lr 0.001:0.01 --freeze 1 --pretrained runs/train/weights/best.safetensors \
  --accumulate 2 --clip-norm 1 --augment full --schedule cosine --warmup 0.1 --optimizer sgd --name fine --no-plots --save-every 1
check "options work together" exits 0
check "no plots when not wanted" test ! -e runs/fine/results.png
check "checkpoints are kept" test -e runs/fine/weights/epoch-0002.safetensors
run train "${tiny[@]}" --precision bf16 --no-flat-master --schedule flat-cos --patience 1 --name half
check "bf16, patience" exits 0
run train "${tiny[@]}" --optimizer adamw:beta2=0.9,eps=1e-6 --schedule step:at=0.5,factor=0.5,warmup=0.1 \
  --callbacks 'gradient_clip:limit=1,by=value;param_scheduler:hyper=weight_decay,schedule=(cosine:start=0.1,end=0.01)' \
  --name chosen --no-plots
check "options of what is chosen by name" exits 0
check "are in the configuration" grep -qxF 'optimizer = "adamw:beta2=0.9,eps=1e-6"' runs/chosen/config.toml
run train "${tiny[@]}" --ema 0.9 --precision tf32 --no-deterministic --tune --plan-cache plans --name average
check "an average, and options of CUDA" exits 0
for line in 'ema = 0.9' 'precision = "tf32"' 'deterministic = false' 'tune = true' 'plan-cache = "plans"'; do
  check "the configuration holds $line" grep -qxF "$line" runs/average/config.toml
done
best=$(awk -F, 'NR > 1 && $5 > best { best = $5 } END { printf "%.4f", best }' runs/average/results.csv)
run eval runs/average --threads 1 --precision tf32 --no-deterministic
check "best.safetensors is the average that was measured ($best)" says "accuracy $best"
for option in resume config preset data model out name; do  # a shell variable that is not set
  run train "${tiny[@]}" "--$option" ""
  check "an empty --$option is refused" exits 2
  check "by its name" complains "--$option"
done

run train "${tiny[@]}" --ema 0.9 --callbacks ema
check "two averages are status 2" exits 2

run train "${tiny[@]}" --epochs 1 --lr 1e30 --optimizer sgd --schedule const --name boom
check "a loss that is not finite is status 7" exits 7
check "and recorded" grep -q '"status": "diverged"' runs/boom/run.json
check "with the first layer or parameter that is not" grep -qE "the (parameter|output of) '" runs/boom/run.json
check "and saves nothing of it" test ! -e runs/boom/weights/best.safetensors
run train "${tiny[@]}" --epochs 1 --precision fp16 --loss-scale dynamic:max_skips=2,floor=65536 --inject overflow@2-4 --name skipping
check "a loss scale that falls no lower is status 7" exits 7
check "and recorded" grep -q '"status": "diverged"' runs/skipping/run.json
check "with its skips" grep -q '"skipped": 2' runs/skipping/run.json
check "which are told" grep -q 'skip_report. 2 of 3 steps skipped' runs/skipping/run.log
run train "${tiny[@]}" --epochs 1 --lr 1e30 --optimizer sgd --schedule const --name back --nan rollback
check "and one that no rollback helps" exits 7
check "after three, each said" test "$(grep -c '\[rollback\] . of 3: back to the state after batch 0' runs/back/run.log)" = 3
check "leaves the state before the first batch" test -e runs/back/weights/last.safetensors
check "and saves nothing else" test ! -e runs/back/weights/best.safetensors
run train "${tiny[@]}" --nan rollback --callbacks checkpointer:last=false --name kept
check "a rollback without a state to go back to is status 2" exits 2

before=$(find runs | wc -l)
run train "${tiny[@]}" --dry-run
check "a dry run" exits 0
check "shows memory" says "MiB"
run train "${tiny[@]}" --fast-dev-run
check "a fast run" exits 0
whole=(--data synthetic10 --model linear --batch-size 8 --threads 1 --workers 0)
run train "${whole[@]}" --fast-dev-run
check "a fast run draws the images of five batches" complains "synthetic10 40/40 "
run train "${whole[@]}" --fast-dev-run --class-weights balanced --train-limit 400
check "but all where classes are weighed" complains "synthetic10 400/"
run train "${whole[@]}" --dry-run --epochs 100000
check "a dry run draws the images of some batches" complains "synthetic10 160/160 "
check "and tells the time of all, hours" grep -qE 'about [0-9]+:[0-9]{2}:[0-9]{2} for 100000 epochs' out
run train "${tiny[@]}" --explain
check "the loop is explained" says "terminate_on_nan"
run train "${tiny[@]}" --print-config
check "the configuration is printed" says 'model = "small"'
check "with what a default decides" says 'lr = [0.01]  # default'
check "and how data will decide" says '# monitor: accuracy of classes, '
check "none of them writes" test "$before" = "$(find runs | wc -l)"

run train --bacth-size 3
check "an unknown option is status 2" exits 2
check "with the nearest one" complains "did you mean '--batch-size'?"
run train --lr nan
check "a wrong value is status 2" exits 2
run trian
check "an unknown command is status 2" complains "did you mean 'train'?"
run train --model resnt9
check "an unknown model" complains "did you mean 'resnet9'?"
run train --data cifar10
check "missing data is status 3" exits 3
run train --epochs 1
check "no data at all is status 2" exits 2
for way in '--data PATH ' '--data synthetic10 ' '--data-dir DIR '; do check "with a way to name them: $way" complains "$way"; done
# MPI keeps what it has allocated, which a sanitizer would report.
ASAN_OPTIONS=detect_leaks=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 run train "${tiny[@]}" --name twice
check "one of two processes that is alone is status 2" exits 2
check "with the reason" complains "started by Open MPI as rank 1 of 2, but"
check "and no run" test ! -e runs/twice
place=(WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "MASTER_PORT=$((20000 + $$ % 10000))")
env "${place[@]}" RANK=1 "$learn" train "${tiny[@]}" --device cpu --name twice >other 2>&1 </dev/null &
second=$!
export "${place[@]}"
RANK=0 run train "${tiny[@]}" --device cpu --name twice
unset WORLD_SIZE MASTER_ADDR MASTER_PORT
check "ranks of torchrun on CPUs are status 2" exits 2
check "with what to do" complains "can train on GPUs only: to train on CPUs, start the same command by 'mpirun -n 2'"
wait $second && status=0 || status=$?
check "on all of them" exits 2
check "and no run" test ! -e runs/twice
WORLD_SIZE=1 SLURM_NTASKS=4 SLURM_PROCID=0 run train "${tiny[@]}" --fast-dev-run
check "one process of a launcher trains" exits 0
line=("${tiny[@]}" --name copied --ema 0.9 --monitor valid_loss --save-every 1 --lr 0.02 --no-plots)
for command in "lr-find --iterations 6" "batch-size-find --largest 16 --steps 1" "audit --steps 1"; do
  # shellcheck disable=SC2086
  run $command "${line[@]}"
  check "learn $command takes a line of a training" exits 0
  check "and says what of it has no effect" complains "[options] without effect in 'learn ${command%% *}': --valid-limit, "
done
run lr-find "${line[@]}" --patience -1
check "what has no effect is checked all the same" exits 2
run lr-find "${tiny[@]}" --resume last
check "what steers a training alone is refused" complains "it is an option of 'learn train'"
run --config x.toml train --seed 7
check "options before the command are put behind it" complains "options come after the command: learn train --config x.toml --seed 7"
run batch-size-find "${tiny[@]}" --smallest 9 --largest 8
check "sizes the wrong way round are status 2" exits 2
check "without a place in the source" complains "error: batch_size_find: sizes from 9 to 8"
run train --data ./nowhere
check "a missing folder is status 3" exits 3
printf '[train]\nbacth-size = 1\n' >bad.toml
run train -c bad.toml
check "a wrong key is status 2" exits 2
check "with its place" complains "bad.toml:2:1"
run train -c missing.toml
check "a missing configuration is status 5" exits 5
run train "${tiny[@]}" --name ../escape
check "a name that leaves the folder is status 2" exits 2
run train "${tiny[@]}" --monitor nonsense
check "an unknown monitor is status 2" exits 2

head -c 2000 runs/train/weights/best.safetensors >cut.safetensors
run eval cut.safetensors
check "a damaged checkpoint is status 4" exits 4
run eval runs/nowhere
check "a missing one is status 4" exits 4
if [ ! -e /dev/nvidia0 ]; then
  run train "${tiny[@]}" --device cuda
  check "a device that is not there is status 8" exits 8
  check "with the reason" complains "device 'cuda' is not available: "
  run eval runs/train --device cuda:1
  check "for a measurement too" exits 8
fi

audited=(--data synthetic10 --train-limit 128 --model small --width 4 --batch-size 32 --threads 1 --workers 1)
run audit "${audited[@]}" --steps 3 --save audit.csv
check "an audit of what works is status 0" exits 0
check "with the layers" says "layer1.residual.res2.conv"
check "and a verdict" says "fine: in fp16 this training behaves as in fp32"
check "and a file of all" grep -q '^3,.*,layer3.conv,' audit.csv
run audit "${audited[@]}" --accumulate 2 --steps 3 --save batches.csv
check "with --accumulate a step is an update of several batches" grep -q '^6,' batches.csv
check "and no more" test "$(grep -c '^7,' batches.csv)" = 0
run audit "${audited[@]}" --precision bf16-amp --steps 2
check "in each precision" says "fine: in bf16-amp"
run audit "${audited[@]}" --config runs/train/config.toml --pretrained runs/train --steps 2
check "of a saved run too" says "fine: in fp16 "
run audit "${audited[@]}" --optimizer sgd --lr 1e6
check "one of what diverges is status 7" exits 7
check "and tells why" says "a longer warm-up: the precision is not the cause"
run audit "${audited[@]}" --precision fp16 --loss-scale 1e9 --steps 2
check "so is one of a loss scale that is too high" exits 7
check "which is named" says " at most, or a dynamic one; or bf16"
run audit "${audited[@]}" --callbacks mixed_precision:loss_scale=1e9,dynamic=false --steps 2
check "a callback that is given in full is audited" says "at a loss scale of 1000000000"
run audit "${audited[@]}" --precision tf32
check "a precision that is no half is status 2" complains "name the half precision to compare"

run doctor --seconds 0.1
check "the machine is reported" exits 0
check "with its processor" says "cores usable"
check "with what became of CUDA" says "cuda"
if [ ! -e /dev/nvidia0 ]; then
  reason=$(sed -n 's/^cuda  *none: \([^;]*\);.*/\1/p' out)
  check "whose reason is said once" test -n "$reason" -a "$(grep -cF "$reason" out)" = 1
fi
check "with the speed of a matrix product" says "GFLOP/s"
LEARN_DEVICE=cpu run doctor --seconds 0.01
check "an environment that chooses the device is named" says "--device auto   cpu: LEARN_DEVICE is 'cpu'"
LEARN_DEVICE=cpux run doctor --seconds 0.01
check "and one that cannot" says "--device auto   LEARN_DEVICE: unknown device 'cpux': use auto, cpu, cuda or cuda:N"
check "with the MPI, or what to install for it" grep -qE '^mpi +(.* [0-9]+\.[0-9.]+, .*liblearn_mpi.so|none: .*install)' out
check "with NCCL, or why there is none" grep -qE '^nccl +(2\.[0-9.]+, .*libnccl|none: .*(pip install nvidia-nccl|needs the CUDA backend))' out
check "with no launcher" grep -qE '^launcher +none' out
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 run doctor --seconds 0
check "a launcher is named" grep -qE '^launcher +started by Open MPI as rank 1 of 4' out
WORLD_SIZE=4 RANK=1 MASTER_ADDR=nodea MASTER_PORT=29500 run doctor --seconds 0
check "torchrun too, with the place where its ranks connect" \
  grep -qE '^launcher +started by torchrun as rank 1 of 4; rank 0 listens at nodea:29500' out
OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4 run doctor --seconds 0
check "or what its variables contradict" says "OMPI_COMM_WORLD_RANK=4 contradicts OMPI_COMM_WORLD_SIZE=4"
check "which is no failure" exits 0
mkdir alone && cp "$learn" alone/
(cd alone && exec ./learn doctor --seconds 0) >out 2>err </dev/null
check "a program without the library of MPI says what to install" says "none: this program was built without MPI: install libopenmpi-dev"
echo "not a library" >alone/liblearn_mpi.so
(cd alone && exec ./learn doctor --seconds 0) >out 2>err </dev/null
check "of a damaged library the reason" says "none: liblearn_mpi.so cannot be loaded: "
run doctor --seconds -1
check "a wrong duration is status 2" exits 2

run models
check "models are listed" says "resnet18"
run models small
check "a model is shown" says "layer3"
run models smal
check "a wrong one is status 2" exits 2

"$learn" train "${tiny[@]}" --epochs 1000 --name stopped >out 2>err </dev/null &
pid=$!
for _ in $(seq 200); do [ -s runs/stopped/weights/last.safetensors ] && break; sleep 0.1; done
kill -INT "$pid"
wait "$pid"
status=$?
check "an interrupt is status 130" exits 130
check "and recorded" grep -q '"status": "interrupted"' runs/stopped/run.json
run eval runs/stopped --weights last
check "and its state can be read" exits 0

conclude
