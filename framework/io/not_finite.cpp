#include "framework/io/not_finite.h"

#include "framework/core/log.h"
#include "framework/tensor/convert.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

namespace learn::detail {

void NotFinite::look_at(const std::string& name, DType dtype, std::span<const std::byte> bytes) {
  if (!is_floating(dtype)) return;
  visit_floating(dtype, [&]<class T>() {
    std::int64_t bad = 0;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, &bytes[at], sizeof(T));
      if (!std::isfinite(as_double(value))) ++bad;
    }
    if (bad == 0) return;
    if (tensors_++ == 0)
      first_ = fmt::format("{} of the {} values of '{}'", bad, bytes.size() / sizeof(T), name);
  });
}

void NotFinite::warn(const std::filesystem::path& file) const {
  if (tensors_ == 0) return;
  log::warn("[checkpoint] '{}': {} are NaN or infinite{}",
            file.string(),
            first_,
            tensors_ == 1 ? "" : fmt::format(", and some of {} more tensors", tensors_ - 1));
}

}  // namespace learn::detail
