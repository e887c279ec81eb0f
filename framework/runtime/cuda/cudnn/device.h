#pragma once
#include "framework/runtime/cuda/cudnn/descriptor.h"

#include <string>
#include <string_view>

namespace learn::cuda::cudnn {

/// cuDNN's description of a GPU. Plans are made for a description; the GPU itself is not needed.
class DeviceDescription {
 public:
  /// The GPU of a handle.
  explicit DeviceDescription(cudnnHandle_t handle);
  /// A description in cuDNN's own JSON, as `json` gives it. Throws DeviceError if it is not one.
  explicit DeviceDescription(std::string_view json);

  [[nodiscard]] const Descriptor& descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const std::string& json() const noexcept { return json_; }
  /// The properties that plans depend on: the model of the GPU, how much of it there is, and the
  /// CUDA version of its driver, for any other of which cuDNN 9.19 refuses them. Equal for all
  /// cards of that kind, in any slot.
  [[nodiscard]] std::string kind() const;

 private:
  Descriptor descriptor_;
  std::string json_;
};

}  // namespace learn::cuda::cudnn
