#include "callbacks/report/kept_samples.h"

#include "framework/kernels/cast/cast.h"
#include "framework/runtime/transfer.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace learn::callbacks {
namespace {

Shape with_rows(Shape shape, std::int64_t rows) {
  shape.set(0, rows);
  return shape;
}

/// Allocates memory for `rows` rows like `like`, unless `there` has it already.
void make_room(Context& ctx, const Tensor& like, std::int64_t rows, DType dtype, Tensor& there) {
  const Shape shape = with_rows(like.shape(), rows);
  if (!there.defined() || there.shape() != shape || there.dtype() != dtype)
    there = Tensor(ctx.persistent(), shape, dtype);
}

void copy_row(Context& ctx, const Tensor& from, std::int64_t row, Tensor& to, std::int64_t at) {
  Tensor slot = to.rows(at, 1);
  kernels::cast(ctx, from.rows(row, 1), slot);
}

/// Returns whether the targets are classes, or one for each output, and of the same kind as `kept`
/// if that is defined.
bool has_targets(const BatchRun& batch, const Tensor& kept) {
  if (!batch.y.defined()) return false;
  const Shape& shape = batch.y.shape();
  const bool classes = batch.y.dtype() == DType::i64 && shape.rank() == 1;
  const bool each = batch.y.dtype() == DType::f32 && shape == batch.pred.value().shape();
  return (classes || each) && (!kept.defined() || kept.dtype() == batch.y.dtype());
}

}  // namespace

void KeptSamples::begin(std::vector<std::int64_t> places) {
  places_ = std::move(places);
  next_ = 0;
  seen_ = size_ = 0;
}

void KeptSamples::reserve(Context& ctx, const BatchRun& batch) {
  const auto rows = static_cast<std::int64_t>(places_.size());
  make_room(ctx, batch.x, rows, batch.x.dtype(), x_);
  make_room(ctx, batch.pred.value(), rows, DType::f32, pred_);
  if (has_targets(batch, {}))
    make_room(ctx, batch.y, rows, batch.y.dtype(), y_);
  else
    y_ = {};
  padding_ = batch.padding;
}

void KeptSamples::add(Context& ctx, const BatchRun& batch) {
  const std::int64_t begin = std::exchange(seen_, seen_ + batch.samples()) + batch.first;
  if (complete() || places_[next_] >= seen_) return;
  const bool usable = batch.pred.defined() && batch.pred.value().shape().rank() == 2;
  if (usable && size_ == 0) reserve(ctx, batch);
  if (usable && !has_targets(batch, y_)) y_ = {};  // some samples have no targets: drop all
  for (; !complete() && places_[next_] < seen_; ++next_) {
    const std::int64_t row = places_[next_] - begin;
    if (!usable || row < 0 || row >= batch.counted()) continue;  // another rank has it
    copy_row(ctx, batch.x, row, x_, size_);
    copy_row(ctx, batch.pred.value(), row, pred_, size_);
    if (y_.defined()) {
      Tensor slot = y_.rows(size_, 1);
      copy(ctx, batch.y.rows(row, 1), slot);
    }
    ++size_;
  }
}

Batch KeptSamples::samples() const {
  Batch batch;
  batch.x = x_.rows(0, size_);
  if (y_.defined()) batch.y = y_.rows(0, size_);
  batch.padding = padding_;
  return batch;
}

Tensor KeptSamples::outputs(Context& ctx) const { return to_host(ctx, pred_.rows(0, size_)); }

std::vector<std::int64_t> spread_places(std::int64_t count, std::int64_t samples) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(std::min(count, samples)));
  const auto all = static_cast<std::int64_t>(places.size());
  for (std::int64_t i = 0; i < all; ++i) places[static_cast<std::size_t>(i)] = i * samples / all;
  return places;
}

std::vector<std::int64_t> first_places(std::int64_t count, std::int64_t samples) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(std::min(count, samples)));
  std::iota(places.begin(), places.end(), std::int64_t{0});
  return places;
}

}  // namespace learn::callbacks
