#pragma once
#include "framework/nn/range_scan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// A parameter of a learner, as its next fit would treat it.
struct AuditedParam {
  std::string name;
  Shape shape;
  nn::ParamRole role = nn::ParamRole::weight;
  int layer_group = 0;
  float lr = 0;  ///< where the schedule of a fit at the learner's current rates has the factor 1
  float weight_decay = 0;  ///< 0: not decayed
  DType in_model = DType::f32;
  bool own_master =
      false;  ///< the f32 master has separate memory; otherwise it is the parameter itself
  bool trainable = true;
  /// Whether the parameter is trainable but gets no gradient, because the forward pass does not use
  /// it.
  bool without_gradient = false;
  std::int64_t calls = 0;  ///< of its module in a forward pass, 0 if the module is not called
  std::int64_t bytes = 0;  ///< master, gradient, half copies, and optimizer state allocated so far
};

struct ParamAudit {
  std::vector<AuditedParam> params;    ///< in the order of the store
  std::vector<std::string> misuse;     ///< likely mistakes, a line each
  std::optional<nn::RangeScan> range;  ///< of a training in half precision

  /// Returns a table with a row for each parameter, totals, and the likely mistakes. In half
  /// precision it has columns for the shares of values that become infinite, zero or subnormal.
  [[nodiscard]] std::string to_string() const;
};

/// Reports the group, update rule, precision and memory of each parameter, and likely mistakes:
/// nothing trained, a trained parameter at rate 0, weight decay of biases or BatchNorm parameters,
/// a parameter without a gradient. Runs one sample of zeros in eval mode in f32, without events, so
/// the training's bits stay the same. Waits for the device. Throws std::logic_error from a handler,
/// UsageError for rates that do not fit the layer groups.
[[nodiscard]] ParamAudit audit_params(Learner& learn);

}  // namespace learn::callbacks
