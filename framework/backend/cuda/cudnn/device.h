#pragma once
#include "framework/backend/cuda/cudnn/descriptor.h"

#include <string>
#include <string_view>

namespace learn::backend::cuda::cudnn {

/// What cuDNN knows of a GPU. Plans are made for a description; the GPU itself need not be there.
class DeviceDescription {
 public:
  /// The GPU of a handle.
  explicit DeviceDescription(cudnnHandle_t handle);
  /// A description in cuDNN's own JSON, as `json` gives it. Throws DeviceError if it is not one.
  explicit DeviceDescription(std::string_view json);

  [[nodiscard]] const Descriptor& descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const std::string& json() const noexcept { return json_; }

 private:
  Descriptor descriptor_;
  std::string json_;
};

}  // namespace learn::backend::cuda::cudnn
