#pragma once
#include "framework/core/function_ref.h"
#include "framework/tensor/arena.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

namespace learn {

/// Constant weights in the forms that operations use: created at the first use, kept during the
/// lifetime of this object, and identified by address.
class PreparedWeights {
 public:
  explicit PreparedWeights(Arena& arena) : arena_(arena) {}
  PreparedWeights(const PreparedWeights&) = delete;
  PreparedWeights& operator=(const PreparedWeights&) = delete;

  /// `floats` numbers that `make` wrote for these weights and this `form`, a number that operations
  /// agree on.
  [[nodiscard]] const float* get(const void* weights,
                                 std::int64_t form,
                                 std::int64_t floats,
                                 FunctionRef<void(float*)> make) {
    const auto [place, is_new] = forms_.try_emplace({weights, form, floats});
    if (is_new) {
      try {
        place->second = arena_.allocate(static_cast<std::size_t>(floats) * sizeof(float));
      } catch (...) {
        forms_.erase(place);
        throw;
      }
      make(data(place->second));
    }
    return data(place->second);
  }

 private:
  static float* data(Storage& storage) { return reinterpret_cast<float*>(storage.data()); }

  Arena& arena_;
  std::map<std::tuple<const void*, std::int64_t, std::int64_t>, Storage> forms_;
};

}  // namespace learn
