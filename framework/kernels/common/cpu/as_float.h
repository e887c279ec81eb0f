#pragma once
#include "framework/kernels/common/cpu/cast.h"
#include "framework/kernels/common/cpu/task_buffers.h"

#include <concepts>
#include <cstdint>
#include <optional>

namespace learn::cpu {

/// An operand as f32: the operand itself, or a converted copy in workspace memory.
template <class T>
class AsFloat {
 public:
  AsFloat(ThreadPool& threads, Arena& workspace, const T* from, std::int64_t n) {
    if (from == nullptr) return;
    if constexpr (std::same_as<T, float>) {
      data_ = from;
    } else {
      copy_.emplace(workspace, n);
      cast(threads, from, copy_->data(), GradMode::overwrite, n);
      data_ = copy_->data();
    }
  }
  [[nodiscard]] const float* data() const { return data_; }

 private:
  std::optional<FloatWorkspace> copy_;
  const float* data_ = nullptr;
};

}  // namespace learn::cpu
