#pragma once
#include "framework/runtime/cuda/cudnn/api.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace learn::cuda::cudnn {

/// cuDNN's name for an attribute of type `T`.
template <class T>
inline constexpr cudnnBackendAttributeType_t kAttributeType = CUDNN_TYPE_INT64;
template <>
inline constexpr auto kAttributeType<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr auto kAttributeType<char> = CUDNN_TYPE_CHAR;
template <>
inline constexpr auto kAttributeType<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr auto kAttributeType<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr auto kAttributeType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr auto kAttributeType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr auto kAttributeType<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr auto kAttributeType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr auto kAttributeType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr auto kAttributeType<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <>
inline constexpr auto kAttributeType<cudnnBackendBehaviorNote_t> = CUDNN_TYPE_BEHAVIOR_NOTE;

/// One object of cuDNN's graph interface: attributes are set, then it is finalized and can be used
/// and read. All members throw DeviceError with cuDNN's text.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check_cudnn(api().create_descriptor(type, &raw_), "cannot make a descriptor");
  }
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (raw_ != nullptr) (void)api().destroy_descriptor(raw_);
  }

  [[nodiscard]] cudnnBackendDescriptor_t raw() const noexcept { return raw_; }

  template <class T>
  Descriptor& set_all(cudnnBackendAttributeName_t name, std::span<const T> values) {
    return set_raw(name, kAttributeType<T>, values.size(), values.data());
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    return set_all(name, std::span<const T>(&value, 1));
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
  }
  Descriptor& set_descriptors(cudnnBackendAttributeName_t name,
                              std::span<const cudnnBackendDescriptor_t> values) {
    return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, values.size(), values.data());
  }
  Descriptor& finalize(const char* what) {
    check_cudnn(api().finalize(raw_), what);
    return *this;
  }

  template <class T>
  [[nodiscard]] std::vector<T> get_all(cudnnBackendAttributeName_t name) const {
    std::int64_t count = 0;
    get_raw(name, kAttributeType<T>, 0, &count, nullptr);
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) get_raw(name, kAttributeType<T>, count, &count, values.data());
    return values;
  }
  template <class T>
  [[nodiscard]] T get(cudnnBackendAttributeName_t name) const {
    T value{};
    std::int64_t count = 0;
    get_raw(name, kAttributeType<T>, 1, &count, &value);
    return value;
  }
  /// Lets cuDNN fill descriptors that exist already; returns how many there were for.
  std::int64_t fill(cudnnBackendAttributeName_t name,
                    std::span<cudnnBackendDescriptor_t> to) const {
    std::int64_t count = 0;
    get_raw(name,
            CUDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<std::int64_t>(to.size()),
            &count,
            to.data());
    return count;
  }

 private:
  Descriptor& set_raw(cudnnBackendAttributeName_t name,
                      cudnnBackendAttributeType_t type,
                      std::size_t count,
                      const void* values) {
    check_cudnn(api().set_attribute(raw_, name, type, static_cast<std::int64_t>(count), values),
                "refuses an attribute");
    return *this;
  }
  void get_raw(cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type,
               std::int64_t room,
               std::int64_t* count,
               void* values) const {
    check_cudnn(api().get_attribute(raw_, name, type, room, count, values),
                "cannot read an attribute");
  }

  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace learn::cuda::cudnn
