#include "apps/experiment/range_check.h"

#include "apps/experiment/precision_section.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"
#include "framework/nn/range_scan.h"

#include <algorithm>
#include <vector>

namespace learn {
namespace {

/// A limit chosen for this project. Pruned weights are zero already, so trained weights that are
/// nearly zero are few.
constexpr double kManyZeros = 0.1;
/// Returns "a, b, c and 2 more", from the descriptions that `text` returns.
template <class Text>
std::string some_of(const std::vector<nn::ParamRange>& params, Text text) {
  std::vector<std::string> described;
  for (const nn::ParamRange& p : params) described.push_back(text(p));
  return join_some(described, 3);
}

/// Returns the modules that the parameters belong to, for `--keep-fp32`. A parameter declared by
/// the model itself has no module to name.
std::string modules_of(const std::vector<nn::ParamRange>& params) {
  std::vector<std::string> modules;
  for (const nn::ParamRange& p : params) {
    const std::size_t dot = p.name.rfind('.');
    if (dot == std::string::npos) continue;
    const std::string module = p.name.substr(0, dot);
    if (std::ranges::find(modules, module) == modules.end()) modules.push_back(module);
  }
  return join(modules, ",");
}

std::string what_helps(const std::vector<nn::ParamRange>& params, DType half, nn::Masters masters) {
  std::string text =
      half == DType::f16 ? "--precision bf16, which has the range of fp32" : "--precision fp32";
  // Without masters, modules kept in f32 compute in f32, but their parameters are halves like all
  // others.
  const std::string_view precision = masters == nn::Masters::f32 ? ""
                                     : half == DType::f16        ? "--precision fp16 "
                                                                 : "--precision bf16 ";
  if (const std::string modules = modules_of(params); !modules.empty())
    text += fmt::format(", or {}--keep-fp32 {}, if their outputs fit ('learn audit' checks this)",
                        precision,
                        modules);
  return text;
}

}  // namespace

void check_range(Learner& learn, const PrecisionSection& precision, const std::string& from) {
  if (!precision.half()) return;
  const DType half = *precision.half();
  const nn::RangeScan scan = nn::scan_range(learn.params(), half, precision.masters());
  if (const std::vector<nn::ParamRange> worst = scan.overflowing(); !worst.empty())
    fail<UsageError>(
        "the weights of '{}' cannot be trained in {}, whose largest number is {:.6g}: {}. They and "
        "all outputs would be infinite. Use {}",
        from,
        half,
        nn::largest_finite(half),
        some_of(worst,
                [](const nn::ParamRange& p) {
                  return fmt::format(
                      "{} of the {} values of '{}' are larger (the largest is {:.6g})",
                      p.overflow,
                      p.count,
                      p.name,
                      p.largest);
                }),
        what_helps(worst, half, precision.masters()));
  if (const std::vector<nn::ParamRange> lost = scan.vanishing(kManyZeros); !lost.empty())
    log::warn("[model] '{}': in {} many weights become zero: {}. Use {}",
              from,
              half,
              some_of(lost,
                      [](const nn::ParamRange& p) {
                        return fmt::format("{:.0f} % of '{}' (the largest left is {:.3g})",
                                           100 * p.share(p.zero),
                                           p.name,
                                           p.largest);
                      }),
              what_helps(lost, half, precision.masters()));
  for (const nn::BufferRange& buffer : scan.bad_buffers)
    if (buffer.negative > 0)
      log::warn("[model] '{}': {} of the {} values of '{}' are negative, but a variance cannot be",
                from,
                buffer.negative,
                buffer.count,
                buffer.name);
  log::info("[model] weights {}", scan.verdict());
}

}  // namespace learn
