#pragma once
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv_direct.h"

#include <cstdint>
#include <optional>

namespace learn::cpu {

/// Weights in the layout that a convolution multiplies: either prepared ones or ones packed for
/// this call.
class PackedWeights {
 public:
  /// Return the form number in `PreparedWeights` for each path. The direct path uses the number of
  /// groups, which determines its packing.
  static constexpr std::int64_t winograd_form(std::int64_t stride) {
    return kWinogradForms + stride;
  }
  static constexpr std::int64_t grouped_form(std::int64_t groups) { return -groups; }

  template <class Make>
  PackedWeights(const ConvResources& on,
                const void* weights,
                std::int64_t form,
                std::int64_t floats,
                Make&& make) {
    if (on.prepared != nullptr) {
      data_ = on.prepared->get(weights, form, floats, make);
      return;
    }
    made_.emplace(on.workspace, floats);
    make(made_->data());
    data_ = made_->data();
  }
  [[nodiscard]] const float* data() const { return data_; }

 private:
  static constexpr std::int64_t kWinogradForms = std::int64_t{1} << 32;  // above any other number

  std::optional<FloatWorkspace> made_;
  const float* data_ = nullptr;
};

}  // namespace learn::cpu
