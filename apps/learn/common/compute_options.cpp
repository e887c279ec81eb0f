#include "apps/learn/common/compute_options.h"

#include "apps/experiment/device_section.h"

namespace learn::cli {

void ComputeOptions::declare(OptionTable& t, bool halves) {
  t.group("Computing");
  std::vector<std::string> names{"fp32", "tf32"};
  std::string help = "tf32: a GPU may round the factors of products to 10 bits";
  if (halves) {
    names.insert(names.end(), {"fp16", "bf16"});
    help += "; fp16, bf16: weights and activations are halves, except BatchNorm's";
  }
  t.choice("precision", precision, names, help);
  t.text("device", device, "auto|cpu|cuda[:N]", "where to compute");
  declare_winograd(t, winograd);
  declare_cuda_options(t, cuda);
  declare_threads(t, threads);
  t.mark_rare({"winograd", "deterministic", "tune", "plan-cache", "threads"});
}

DType ComputeOptions::dtype() const {
  if (precision == "fp16") return DType::f16;
  return precision == "bf16" ? DType::bf16 : DType::f32;
}

ContextOptions ComputeOptions::context_options() const {
  const DeviceSection section{
      .device = device, .winograd = winograd, .cuda = cuda, .threads = threads};
  return section.context_options(precision == "tf32");
}

}  // namespace learn::cli
