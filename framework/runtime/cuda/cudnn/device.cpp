#include "framework/runtime/cuda/cudnn/device.h"

#include <nlohmann/json.hpp>

namespace learn::cuda::cudnn {
namespace {

std::string read_json(const Descriptor& descriptor) {
  const auto text = descriptor.get_all<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  return {text.begin(), text.end()};
}

}  // namespace

DeviceDescription::DeviceDescription(cudnnHandle_t handle)
    : descriptor_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
  descriptor_.set(CUDNN_ATTR_DEVICEPROP_HANDLE, handle).finalize("cannot describe the device");
  json_ = read_json(descriptor_);
}

DeviceDescription::DeviceDescription(std::string_view json)
    : descriptor_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
  descriptor_
      .set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
               std::span<const char>(json.data(), json.size()))
      .finalize("cannot read a device description");
  json_ = read_json(descriptor_);
}

std::string DeviceDescription::kind() const {
  const auto all = nlohmann::json::parse(json_);
  std::string text;
  for (const char* field : {"deviceName", "deviceVer", "multiProcessorCount", "driverVer"})
    if (const auto found = all.find(field); found != all.end())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field, found->dump());
  return text;
}

}  // namespace learn::cuda::cudnn
