#include "framework/core/round_up.h"
#include "framework/core/threads/thread_pool.h"
#include "framework/kernels/common/cpu/simd/kernels.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/product/small_products.h"

#include <algorithm>

namespace learn::cpu {
namespace {

using simd::kPanel;

constexpr std::int64_t kMost = 64;        // rows, depth, columns
constexpr std::int64_t kWhole = 16;       // columns that fill vectors of every instruction set
constexpr std::int64_t kGrain = 1 << 17;  // multiplications: about 10 microseconds

/// The buffers of a task and how its products use them.
class Multiplier {
 public:
  Multiplier(const SmallProducts& products, float* memory)
      : p_(products), panels_(memory), sums_(memory + panel_floats(products)) {
    // Padding is multiplied, too: it must not be slow.
    std::fill_n(memory, panel_floats(p_), 0.0F);
  }

  [[nodiscard]] static std::int64_t floats(const SmallProducts& p) {
    return panel_floats(p) + p.rows * width(p);
  }

  void multiply(std::int64_t i) {
    const float* const b = p_.b + i * p_.depth * p_.columns;
    float* const c = p_.c + i * p_.rows * p_.columns;
    const bool direct = p_.columns % kWhole == 0;
    const bool add = p_.mode == GradMode::accumulate;
    const std::int64_t stride = direct ? p_.columns : width(p_);
    float* rows[kMost];
    for (std::int64_t r = 0; r < p_.rows; ++r) rows[r] = (direct ? c : sums_) + r * stride;
    const simd::Run run{.a = 0, .b = 0, .depth = p_.depth};
    const simd::GemmBlock block{.a = p_.a + i * p_.rows * p_.depth,
                                .a_stride = p_.a_transposed ? p_.rows : p_.depth,
                                .b = panels_of(b),
                                .b_stride = p_.depth * kPanel,
                                .runs = &run,
                                .run_count = 1,
                                .c = rows,
                                .c_offset = 0,
                                .rows = p_.rows,
                                .columns = direct ? p_.columns : width(p_),
                                .accumulate = direct && add};
    (p_.a_transposed ? kernels_.multiply_transposed : kernels_.multiply)(block);
    if (!direct) take_sums(c, add);
  }

 private:
  [[nodiscard]] static std::int64_t width(const SmallProducts& p) {
    return round_up(p.columns, kWhole);
  }
  [[nodiscard]] static std::int64_t panel_floats(const SmallProducts& p) {
    return round_up(p.columns, kPanel) * p.depth;
  }

  /// Returns b in panels.
  const float* panels_of(const float* b) const {
    if (!p_.b_transposed && p_.columns == kPanel) return b;
    for (std::int64_t first = 0; first < p_.columns; first += kPanel) {
      const std::int64_t count = std::min(kPanel, p_.columns - first);
      float* const panel = panels_ + first * p_.depth;
      if (p_.b_transposed)
        kernels_.transpose(b + first * p_.depth, p_.depth, count, p_.depth, panel, kPanel);
      else
        for (std::int64_t d = 0; d < p_.depth; ++d)
          std::copy_n(b + d * p_.columns + first, count, panel + d * kPanel);
    }
    return panels_;
  }

  void take_sums(float* c, bool add) const {
    const std::int64_t columns = p_.columns;
    for (std::int64_t r = 0; r < p_.rows; ++r) {
      const float* const from = sums_ + r * width(p_);
      float* const to = c + r * columns;
      if (add)
        for (std::int64_t j = 0; j < columns; ++j) to[j] += from[j];
      else
        std::copy_n(from, columns, to);
    }
  }

  const SmallProducts p_;
  const simd::Kernels& kernels_ = simd::best_kernels();
  float* const panels_;
  float* const sums_;
};

}  // namespace

bool multiply_small(const Exec& exec, const SmallProducts& products) {
  if (products.count < 2 || std::max({products.rows, products.depth, products.columns}) > kMost)
    return false;
  const std::int64_t work = products.rows * products.depth * products.columns;
  TaskBuffers buffers(exec.workspace, exec.threads, Multiplier::floats(products));
  exec.threads.parallel_for(products.count,
                            std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work)),
                            [&](std::int64_t begin, std::int64_t end) {
                              const TaskBuffers::Lease lease(buffers);
                              Multiplier multiplier(products, lease.data());
                              for (std::int64_t i = begin; i < end; ++i) multiplier.multiply(i);
                            });
  return true;
}

}  // namespace learn::cpu
