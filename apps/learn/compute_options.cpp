#include "apps/learn/compute_options.h"

#include "apps/experiment/device_section.h"

namespace learn::cli {

void ComputeOptions::declare(OptionTable& t) {
  t.choice("precision",
           precision,
           {"fp32", "tf32"},
           "tf32: a GPU may round the factors of products to 10 bits");
  t.text("device", device, "auto|cpu|cuda[:N]", "where to compute");
  declare_winograd(t, winograd);
  declare_cuda_options(t, cuda);
  declare_threads(t, threads);
}

ContextOptions ComputeOptions::context_options() const {
  const DeviceSection section{
      .device = device, .winograd = winograd, .cuda = cuda, .threads = threads};
  return section.context_options(precision == "tf32");
}

}  // namespace learn::cli
