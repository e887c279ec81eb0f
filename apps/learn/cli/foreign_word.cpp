// The words of fastai, Lightning, Keras, Ultralytics, timm, torchvision and Hugging Face.
#include "apps/learn/cli/unknown_word.h"

#include <algorithm>
#include <array>

namespace learn::cli {
namespace {

struct ForeignWord {
  std::string_view word;
  std::string_view here;
};

constexpr std::array kOptions{ForeignWord{"a", "--model NAME"},
                              ForeignWord{"aa", "--augment randaugment"},
                              ForeignWord{"accelerator", "--device auto|cpu|cuda[:N]"},
                              ForeignWord{"accumulate-grad-batches", "--accumulate N"},
                              ForeignWord{"amp", "--precision fp16-amp"},
                              ForeignWord{"arch", "--model NAME"},
                              ForeignWord{"architecture", "--model NAME"},
                              ForeignWord{"augmix", "--augment augmix"},
                              ForeignWord{"auto-augment", "--augment randaugment"},
                              ForeignWord{"auto-lr-find", "learn lr-find"},
                              ForeignWord{"autoaugment", "--augment randaugment"},
                              ForeignWord{"autocast", "--precision fp16-amp"},
                              ForeignWord{"backbone", "--model NAME"},
                              ForeignWord{"base-lr", "--lr X"},
                              ForeignWord{"benchmark", "--tune"},
                              ForeignWord{"bf16", "--precision bf16-amp"},
                              ForeignWord{"brightness", "--augment jitter:brightness=X"},
                              ForeignWord{"bs", "--batch-size N"},
                              ForeignWord{"checkpoint", "--resume RUN"},
                              ForeignWord{"checkpoint-freq", "--save-every N"},
                              ForeignWord{"ckpt", "--resume RUN"},
                              ForeignWord{"ckpt-path", "--resume RUN"},
                              ForeignWord{"clip", "--clip-norm X"},
                              ForeignWord{"clip-grad", "--clip-norm X"},
                              ForeignWord{"color-jitter", "--augment jitter"},
                              ForeignWord{"cos-lr", "--schedule cosine"},
                              ForeignWord{"criterion", "--loss NAME"},
                              ForeignWord{"cuda", "--device cuda"},
                              ForeignWord{"cutmix-alpha", "--cutmix A"},
                              ForeignWord{"data-path", "--data PATH"},
                              ForeignWord{"data-root", "--data PATH"},
                              ForeignWord{"dataloader-num-workers", "--workers N"},
                              ForeignWord{"dataset", "--data NAME|PATH"},
                              ForeignWord{"default-root-dir", "--out DIR"},
                              ForeignWord{"devices", "--device auto|cpu|cuda[:N]"},
                              ForeignWord{"early-stopping", "--patience N"},
                              ForeignWord{"ema-decay", "--ema 0.999"},
                              ForeignWord{"eval", "learn eval RUN"},
                              ForeignWord{"eval-batch-size", "learn eval RUN --batch-size N"},
                              ForeignWord{"evaluate", "learn eval RUN"},
                              ForeignWord{"exp-name", "--name NAME"},
                              ForeignWord{"experiment", "--name NAME"},
                              ForeignWord{"export", "learn export RUN model.onnx"},
                              ForeignWord{"finetune", "--pretrained RUN|FILE"},
                              ForeignWord{"fp16", "--precision fp16"},
                              ForeignWord{"gpu", "--device cuda"},
                              ForeignWord{"gpus", "--device cuda"},
                              ForeignWord{"grad-accum", "--accumulate N"},
                              ForeignWord{"grad-accum-steps", "--accumulate N"},
                              ForeignWord{"grad-clip", "--clip-norm X"},
                              ForeignWord{"gradient-accumulation-steps", "--accumulate N"},
                              ForeignWord{"gradient-clip-val", "--clip-norm X"},
                              ForeignWord{"half", "--precision fp16"},
                              ForeignWord{"hflip", "--augment flip:p=P"},
                              ForeignWord{"hsv-h", "--augment jitter:hue=X"},
                              ForeignWord{"image-shape", "--image-size N"},
                              ForeignWord{"img", "--image-size N"},
                              ForeignWord{"img-size", "--image-size N"},
                              ForeignWord{"imgsz", "--image-size N"},
                              ForeignWord{"initial-checkpoint", "--pretrained RUN|FILE"},
                              ForeignWord{"input-size", "--image-size N"},
                              ForeignWord{"j", "--workers N"},
                              ForeignWord{"label-smooth", "--label-smoothing X"},
                              ForeignWord{"learning-rate", "--lr X"},
                              ForeignWord{"limit-train-batches", "--train-limit N|SHARE"},
                              ForeignWord{"limit-val-batches", "--valid-limit N"},
                              ForeignWord{"log-dir", "--out DIR"},
                              ForeignWord{"logger", "--callbacks tensorboard"},
                              ForeignWord{"loss-fn", "--loss NAME"},
                              ForeignWord{"lr-find", "learn lr-find"},
                              ForeignWord{"lr-finder", "learn lr-find"},
                              ForeignWord{"lr-scheduler", "--schedule NAME"},
                              ForeignWord{"lr-scheduler-type", "--schedule NAME"},
                              ForeignWord{"lr0", "--lr X"},
                              ForeignWord{"lrf", "--schedule cosine:end=SHARE"},
                              ForeignWord{"manual-seed", "--seed N"},
                              ForeignWord{"max-epochs", "--epochs N"},
                              ForeignWord{"max-grad-norm", "--clip-norm X"},
                              ForeignWord{"max-lr", "--lr X"},
                              ForeignWord{"mixed-precision", "--precision fp16-amp"},
                              ForeignWord{"mixup-alpha", "--mixup A"},
                              ForeignWord{"mixup-off-epoch", "--callbacks mix:plain_epochs=N"},
                              ForeignWord{"mixup-prob", "--callbacks mix:p=P"},
                              ForeignWord{"model-ema", "--ema 0.999"},
                              ForeignWord{"model-name", "--model NAME"},
                              ForeignWord{"n-epochs", "--epochs N"},
                              ForeignWord{"native-amp", "--precision fp16-amp"},
                              ForeignWord{"nb-epoch", "--epochs N"},
                              ForeignWord{"nesterov", "--optimizer sgd:nesterov=true"},
                              ForeignWord{"net", "--model NAME"},
                              ForeignWord{"no-cuda", "--device cpu"},
                              ForeignWord{"num-epochs", "--epochs N"},
                              ForeignWord{"num-train-epochs", "--epochs N"},
                              ForeignWord{"num-workers", "--workers N"},
                              ForeignWord{"one-cycle", "--schedule one-cycle"},
                              ForeignWord{"opt", "--optimizer NAME"},
                              ForeignWord{"output", "--out DIR"},
                              ForeignWord{"output-dir", "--out DIR"},
                              ForeignWord{"overfit-batches", "--train-limit N"},
                              ForeignWord{"overwrite", "--exist-ok"},
                              ForeignWord{"per-device-train-batch-size", "--batch-size N"},
                              ForeignWord{"project", "--out DIR"},
                              ForeignWord{"ra", "--augment randaugment"},
                              ForeignWord{"rand-augment", "--augment randaugment"},
                              ForeignWord{"randaugment", "--augment randaugment"},
                              ForeignWord{"random-erase", "--augment erase"},
                              ForeignWord{"random-seed", "--seed N"},
                              ForeignWord{"random-state", "--seed N"},
                              ForeignWord{"reprob", "--augment erase:p=P"},
                              ForeignWord{"resume-from", "--resume RUN"},
                              ForeignWord{"resume-from-checkpoint", "--resume RUN"},
                              ForeignWord{"root", "--data PATH"},
                              ForeignWord{"run-name", "--name NAME"},
                              ForeignWord{"save-dir", "--out DIR"},
                              ForeignWord{"save-freq", "--save-every N"},
                              ForeignWord{"save-period", "--save-every N"},
                              ForeignWord{"sched", "--schedule NAME"},
                              ForeignWord{"scheduler", "--schedule NAME"},
                              ForeignWord{"smoothing", "--label-smoothing X"},
                              ForeignWord{"source", "--data PATH"},
                              ForeignWord{"static-loss-scale", "--loss-scale X"},
                              ForeignWord{"sync-batchnorm", "--sync-bn"},
                              ForeignWord{"test", "learn eval RUN"},
                              ForeignWord{"test-only", "learn eval RUN"},
                              ForeignWord{"train-batch-size", "--batch-size N"},
                              ForeignWord{"train-crop-size", "--image-size N"},
                              ForeignWord{"train-dir", "--data PATH"},
                              ForeignWord{"trivial-augment", "--augment trivial"},
                              ForeignWord{"trivialaugment", "--augment trivial"},
                              ForeignWord{"use-amp", "--precision fp16-amp"},
                              ForeignWord{"val-pct", "--val-split SHARE"},
                              ForeignWord{"val-size", "--val-split SHARE"},
                              ForeignWord{"valid-pct", "--val-split SHARE"},
                              ForeignWord{"validation-split", "--val-split SHARE"},
                              ForeignWord{"warmup-epochs", "--warmup SHARE"},
                              ForeignWord{"warmup-ratio", "--warmup SHARE"},
                              ForeignWord{"warmup-steps", "--warmup SHARE"},
                              ForeignWord{"wd", "--weight-decay X"},
                              ForeignWord{"weights", "--pretrained RUN|FILE"}};

constexpr std::array kCommands{ForeignWord{"benchmark", "learn doctor"},
                               ForeignWord{"callbacks", "learn options callback"},
                               ForeignWord{"check", "learn doctor"},
                               ForeignWord{"checks", "learn doctor"},
                               ForeignWord{"classify", "learn predict RUN IMAGE..."},
                               ForeignWord{"compare", "learn runs RUN RUN"},
                               ForeignWord{"convert", "learn export RUN model.onnx"},
                               ForeignWord{"delete", "learn runs --remove RUN"},
                               ForeignWord{"env", "learn doctor"},
                               ForeignWord{"evaluate", "learn eval RUN"},
                               ForeignWord{"find-lr", "learn lr-find"},
                               ForeignWord{"fine-tune", "learn train --pretrained RUN"},
                               ForeignWord{"finetune", "learn train --pretrained RUN"},
                               ForeignWord{"fit", "learn train"},
                               ForeignWord{"infer", "learn predict RUN IMAGE..."},
                               ForeignWord{"inference", "learn predict RUN IMAGE..."},
                               ForeignWord{"list", "learn runs"},
                               ForeignWord{"load", "learn import FILE"},
                               ForeignWord{"ls", "learn runs"},
                               ForeignWord{"metrics", "learn options metric"},
                               ForeignWord{"onnx", "learn export RUN model.onnx"},
                               ForeignWord{"optimizers", "learn options optimizer"},
                               ForeignWord{"resume", "learn train --resume RUN|last"},
                               ForeignWord{"rm", "learn runs --remove RUN"},
                               ForeignWord{"run", "learn train"},
                               ForeignWord{"schedules", "learn options schedule"},
                               ForeignWord{"summary", "learn models NAME"},
                               ForeignWord{"swa", "learn average RUN..."},
                               ForeignWord{"test", "learn eval RUN"},
                               ForeignWord{"val", "learn eval RUN"},
                               ForeignWord{"validate", "learn eval RUN"},
                               ForeignWord{"version", "learn --version"}};

/// Missing features, and the closest alternative.
constexpr std::string_view kSearch =
    "searching for settings is not supported; 'learn lr-find' suggests a rate, 'learn "
    "batch-size-find' a batch size, and 'learn runs RUN RUN' compares trainings";
constexpr std::string_view kServing =
    "learn has no server; 'learn predict RUN IMAGE... --json' classifies files, and 'learn export "
    "RUN model.onnx' exports to ONNX servers";
constexpr std::string_view kProcesses =
    "'mpirun -n N learn train' trains with N processes, on CPUs; GPUs are not supported by it yet";

constexpr std::array kAbsent{ForeignWord{"ddp", kProcesses},
                             ForeignWord{"dist-backend", kProcesses},
                             ForeignWord{"distributed", kProcesses},
                             ForeignWord{"grid-search", kSearch},
                             ForeignWord{"local-rank", kProcesses},
                             ForeignWord{"multi-gpu", kProcesses},
                             ForeignWord{"num-nodes", kProcesses},
                             ForeignWord{"num-processes", kProcesses},
                             ForeignWord{"optuna", kSearch},
                             ForeignWord{"search", kSearch},
                             ForeignWord{"serve", kServing},
                             ForeignWord{"server", kServing},
                             ForeignWord{"strategy", kProcesses},
                             ForeignWord{"sweep", kSearch},
                             ForeignWord{"tune", kSearch},
                             ForeignWord{"web", kServing},
                             ForeignWord{"world-size", kProcesses}};

template <std::size_t N>
std::string_view find(const std::array<ForeignWord, N>& words, std::string_view name) {
  std::string word(name);
  std::ranges::replace(word, '_', '-');
  const auto found = std::ranges::find(words, word, &ForeignWord::word);
  return found == words.end() ? std::string_view() : found->here;
}

}  // namespace

std::string_view foreign_option(std::string_view name) { return find(kOptions, name); }

std::string_view foreign_command(std::string_view name) { return find(kCommands, name); }

std::string_view absent_feature(std::string_view name) { return find(kAbsent, name); }

}  // namespace learn::cli
