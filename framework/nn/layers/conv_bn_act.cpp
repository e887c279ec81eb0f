#include "framework/nn/layers/conv_bn_act.h"

#include <fmt/core.h>

namespace learn::nn {

ConvBnAct::ConvBnAct(const Scope& scope,
                     std::int64_t in,
                     std::int64_t out,
                     const ConvBnActOptions& options)
    : Module(scope),
      conv_(scope / options.conv_name,
            in,
            out,
            {.kernel = options.kernel,
             .stride = options.stride,
             .pad = options.pad,
             .groups = options.groups,
             .bias = false,
             .init = options.conv_init}),
      norm_(scope / options.norm_name,
            out,
            {.activation = options.activation,
             .residual_before_activation = options.residual_before_activation},
            options.norm_init) {}

Var ConvBnAct::operator()(const Var& x, const Var& residual) {
  return run(x, residual, [this](const Var& in, const Var& r) { return norm_(conv_(in), r); });
}

Var ConvBnAct::forward(const Var& x) { return norm_(conv_(x)); }

std::string ConvBnAct::describe() const {
  return fmt::format("ConvBnAct: {}, {}", conv_.describe(), norm_.describe());
}

}  // namespace learn::nn
