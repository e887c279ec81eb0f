#pragma once
#include <cstdint>

namespace learn {

/// The values that control a step and vary from step to step. They are in device memory, so that a
/// captured graph of a whole step stays valid and no step waits for the host. Plain data, shared
/// with device code.
struct StepControl {
  float loss_scale = 1;     ///< initial gradient of the backward pass
  float inverse_scale = 1;  ///< 1 / loss_scale
  float grad_multiplier =
      1;  ///< applied to each gradient by the optimizer, for accumulation and clipping
  std::int32_t found_inf =
      0;  ///< if not 0, a gradient of this step is not finite and the step is skipped
  std::int64_t clean_steps = 0;  ///< since the last overflow, or since growth was last due
  std::int64_t step = 0;         ///< updates applied
  std::int64_t skipped = 0;      ///< updates skipped because of found_inf
  std::int64_t overflows = 0;    ///< updates skipped since the last applied one
};

/// Hyper-parameters of one parameter group, in device memory. Each optimizer reads the fields it
/// uses.
struct GroupHypers {
  float lr = 1e-3F;
  float momentum = 0.9F;   ///< SGD, RMSProp: momentum; Adam: beta1
  float dampening = 0;     ///< SGD
  float beta2 = 0.99F;     ///< Adam: beta2; RMSProp: alpha
  float eps = 1e-5F;       ///< Adam, RMSProp
  float weight_decay = 0;  ///< 0 where the group is exempt
};

}  // namespace learn
