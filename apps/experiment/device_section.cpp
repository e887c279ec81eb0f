#include "apps/experiment/device_section.h"

#include "apps/experiment/spec_flag.h"
#include "callbacks/cuda_graph.h"
#include "callbacks/mixed_precision.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"
#include "framework/runtime/device_choice.h"

namespace learn {
namespace {

/// Warns of what only a GPU does.
void warn_on_cpu(const DeviceSection& o) {
  if (o.precision == "tf32") log::warn("[device] --precision tf32 is fp32 on the CPU");
  const CudaOptions usual;
  for (const auto& [name, differs] :
       {std::pair{"tune", o.cuda.tune != usual.tune},
        {"deterministic", o.cuda.deterministic != usual.deterministic},
        {"plan-cache", o.cuda.plan_cache != usual.plan_cache}})
    if (differs) log::warn("[device] --{} has no effect on the CPU", name);
}

}  // namespace

void declare_threads(OptionTable& t, std::int64_t& threads) {
  t.number(
       "threads", threads, {.low = 0, .high = 1024}, "N", "CPU threads; 0: one per physical core")
      .may_change = true;
}

void declare_winograd(OptionTable& t, bool& winograd) {
  t.flag("winograd",
         winograd,
         "compute 3x3 convolutions by Winograd's algorithm where that is faster; without it they "
         "are plain sums, with a quarter to a tenth of the rounding errors, and training on a CPU "
         "takes twice as long");
}

void declare_cuda_options(OptionTable& t, CudaOptions& o) {
  t.flag("deterministic",
         o.deterministic,
         "CUDA: use only algorithms that give the same bits in every run");
  t.flag("tune", o.tune, "CUDA: time each convolution's best algorithms when it first runs")
      .may_change = true;
  t.text("plan-cache",
         o.plan_cache,
         "DIR",
         "CUDA: keep the chosen convolution algorithms here from run to run")
      .may_change = true;
}

void DeviceSection::declare(OptionTable& t) {
  t.group("Precision and device");
  t.choice("precision",
           precision,
           {"fp32", "tf32", "fp16", "bf16"},
           "precision of weights, activations and their gradients; master weights are fp32; tf32: "
           "fp32, but a GPU may round the factors of products to 10 bits");
  t.flag("flat-master",
         flat_master,
         "update all weights in one pass, not one by one; the bits are the same");
  Option& scale = t.text("loss-scale", loss_scale, "X|dynamic", "loss scale of fp16");
  scale.set = [this](const std::string& text) {
    if (text != "dynamic") (void)parse_real(text, kPositive);
    loss_scale = text;
  };
  t.text("device",
         device,
         "auto|cpu|cuda[:N]",
         "device; auto: a GPU if there is one, see 'learn doctor'")
      .may_change = true;
  t.flag("cuda-graph", cuda_graph, "CUDA: run each training step as one graph launch");
  declare_winograd(t, winograd);
  declare_cuda_options(t, cuda);
  declare_threads(t, threads);
  t.number(
      "seed", seed, kNotNegative, "N", "seed of initial weights, order, augmentation and dropout");
}

void DeviceSection::check() const {
  if (loss_scale != "dynamic" && precision != "fp16")
    fail<UsageError>("--loss-scale needs --precision fp16, not {}", precision);
}

ContextOptions DeviceSection::context_options() const {
  ContextOptions options{.device = choose_device(device),
                         .threads = static_cast<int>(threads),
                         .seed = static_cast<std::uint64_t>(seed),
                         .winograd = winograd,
                         .cuda = cuda};
  options.cuda.tf32 = precision == "tf32";
  if (options.device->is_cpu()) warn_on_cpu(*this);
  return options;
}

DType DeviceSection::dtype() const {
  if (precision == "fp16") return DType::f16;
  return precision == "bf16" ? DType::bf16 : DType::f32;
}

void DeviceSection::check_replaced(const std::string& mixed_precision) const {
  const Spec spec = Spec::parse(mixed_precision);
  const std::string* const given = find_option(spec, "dtype");
  const bool bf16 = given != nullptr && *given == "bf16";
  const std::string wanted = bf16 ? "bf16" : "fp16";
  if (precision != wanted)
    fail<UsageError>("--callbacks {} computes in {}, and --precision is {}: say --precision {}",
                     mixed_precision,
                     wanted,
                     precision,
                     wanted);
  if (loss_scale != "dynamic" || !flat_master)
    fail<UsageError>(
        "--loss-scale and --flat-master have no effect beside --callbacks {}: give it "
        "loss_scale=X, dynamic=false or flat_master=false",
        mixed_precision);
}

void DeviceSection::add_callbacks(Learner& learn, bool replaced) const {
  if (is_half(dtype()) && !replaced) {
    callbacks::MixedPrecisionOptions half{.dtype = dtype(), .flat_master = flat_master};
    if (loss_scale != "dynamic") {
      half.loss_scale = static_cast<float>(parse_real(loss_scale, kPositive));
      half.scaling.dynamic = false;
    }
    learn.add<callbacks::MixedPrecision>(half);
  }
  if (cuda_graph) learn.add<callbacks::CudaGraph>();
}

}  // namespace learn
