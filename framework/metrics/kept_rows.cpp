#include "framework/metrics/kept_rows.h"

#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <utility>

namespace learn {

void KeptRows::reserve(Context& ctx, std::int64_t rows) {
  const std::int64_t there = kept_.defined() ? kept_.elements() : 0;
  if (rows * columns_ <= there) return;
  Tensor larger(ctx.persistent(), {std::max(rows * columns_, 2 * there)}, dtype_);
  if (rows_ > 0) {
    Tensor begin = larger.range(0, rows_ * columns_);
    copy(ctx, kept_.range(0, rows_ * columns_), begin);
  }
  kept_ = std::move(larger);
}

void KeptRows::add(Context& ctx, const Tensor& x) {
  const std::int64_t count = x.shape()[0];
  if (count == 0) return;
  const std::int64_t columns = x.elements() / count;
  check(rows_ == 0 || columns == columns_,
        "rows of {} values after rows of {}: all batches of a pass must have the same classes",
        columns,
        columns_);
  columns_ = columns;
  reserve(ctx, rows_ + count);
  Tensor slot = kept_.range(rows_ * columns_, count * columns_);
  copy(ctx, x.view({count * columns_}), slot);
  rows_ += count;
}

Tensor KeptRows::read(Context& ctx) const {
  return rows_ == 0 ? Tensor()
                    : to_host(ctx, kept_.range(0, rows_ * columns_).view({rows_, columns_}));
}

void KeptRows::visit_state(Context& ctx,
                           std::int64_t most,
                           std::string_view name,
                           StateVisitor& visitor) {
  const StateVisitor::Scope scope(visitor, name);
  constexpr std::int64_t kMaxColumns = 1 << 20;
  visitor.visit("rows", rows_, {.high = most});
  visitor.visit("columns", columns_, {.high = kMaxColumns});
  const std::int64_t elements = rows_ * columns_;
  if (elements == 0) {
    rows_ = 0;
    return;
  }
  Tensor values =
      visitor.loading() ? host_tensor({elements}, dtype_) : to_host(ctx, kept_.range(0, elements));
  visitor.visit("values", values);
  if (!visitor.loading()) return;
  kept_ = to_device(ctx, ctx.persistent(), values);
}

}  // namespace learn
