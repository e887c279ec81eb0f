#include "data/array_loader.h"

#include "data/epoch_order.h"
#include "framework/core/error.h"

#include <algorithm>
#include <cstring>

namespace learn::data {
namespace {

std::int64_t size_of(const auto& values) { return static_cast<std::int64_t>(values.size()); }

/// Samples in the arrays. Throws DataError for arrays that do not fit together.
std::int64_t checked_count(const Arrays& a) {
  const std::int64_t each = a.sample.elements();
  check<DataError>(each > 0 && !a.x.empty() && size_of(a.x) % each == 0,
                   "arrays: {} numbers are no samples of shape {}",
                   a.x.size(),
                   a.sample);
  const std::int64_t count = size_of(a.x) / each;
  check<DataError>(a.classes.empty() != a.targets.empty(),
                   "arrays: give classes or targets, one of the two");
  check<DataError>(a.classes.empty() || size_of(a.classes) == count,
                   "arrays: {} classes for {} samples",
                   a.classes.size(),
                   count);
  check<DataError>(size_of(a.targets) % count == 0,
                   "arrays: {} targets for {} samples",
                   a.targets.size(),
                   count);
  const auto lowest = std::min_element(a.classes.begin(), a.classes.end());
  check<DataError>(a.classes.empty() || *lowest >= 0,
                   "arrays: class {} of sample {} is negative",
                   a.classes.empty() ? 0 : *lowest,
                   lowest - a.classes.begin());
  return count;
}

int class_count(const Arrays& a, std::int64_t count) {
  if (a.classes.empty()) return static_cast<int>(size_of(a.targets) / count);
  return static_cast<int>(*std::max_element(a.classes.begin(), a.classes.end()) + 1);
}

}  // namespace

ArrayLoader::ArrayLoader(Context& ctx, Arrays arrays, const ArrayLoaderOptions& options)
    : arrays_(std::move(arrays)),
      options_(options),
      order_(static_cast<std::size_t>(checked_count(arrays_))),
      host_(make_upload_arena(ctx, "arrays")) {
  classes_ = class_count(arrays_, count());
  check<UsageError>(options.batch_size >= 1, "batch size {} is below 1", options.batch_size);
  check<DataError>(batches() > 0,
                   "{} samples: not one batch of {}; take a smaller batch size",
                   count(),
                   options.batch_size);
  const std::int64_t size = std::min(options.batch_size, count());
  Shape shape{size};
  for (int i = 0; i < arrays_.sample.rank(); ++i) shape.push_back(arrays_.sample[i]);
  x_ = Tensor(*host_, shape, DType::f32);
  y_ = arrays_.classes.empty() ? Tensor(*host_, {size, classes_}, DType::f32)
                               : Tensor(*host_, {size}, DType::i64);
  if (ctx.device().is_cuda()) uploads_ = std::make_unique<Uploads>(ctx, x_, y_);
}

std::int64_t ArrayLoader::batches() const {
  const std::int64_t full = count() / options_.batch_size;
  return full + (count() % options_.batch_size != 0 && !options_.drop_last ? 1 : 0);
}

std::int64_t ArrayLoader::samples() const {
  return std::min(batches() * options_.batch_size, count());
}

void ArrayLoader::begin(std::int64_t epoch) {
  position_.batch = position_.first_batch(epoch);
  position_.epoch = epoch;
  set_epoch_order(order_, options_.shuffle, options_.seed, epoch);
}

void ArrayLoader::gather(std::int64_t from, std::int64_t to) {
  const auto row = static_cast<std::size_t>(arrays_.sample.elements());
  const auto targets = static_cast<std::size_t>(classes_);
  float* x = x_.span<float>().data();
  for (std::int64_t i = from; i < to; ++i, x += row) {
    const auto sample = static_cast<std::size_t>(order_[static_cast<std::size_t>(i)]);
    std::copy_n(arrays_.x.data() + sample * row, row, x);
    if (arrays_.classes.empty())
      std::copy_n(arrays_.targets.data() + sample * targets,
                  targets,
                  y_.span<float>().data() + static_cast<std::size_t>(i - from) * targets);
    else
      y_.span<std::int64_t>()[static_cast<std::size_t>(i - from)] = arrays_.classes[sample];
  }
}

bool ArrayLoader::next(Batch& batch) {
  if (position_.batch >= batches()) return false;
  if (uploads_ != nullptr) uploads_->wait();
  const std::int64_t from = position_.batch * options_.batch_size;
  const std::int64_t to = std::min(from + options_.batch_size, count());
  gather(from, to);
  batch.x = x_.rows(0, to - from);
  batch.y = y_.rows(0, to - from);
  batch.index.assign(order_.begin() + from, order_.begin() + to);
  if (uploads_ != nullptr) {
    const auto there = uploads_->bring(batch.x, batch.y, position_.batch);
    batch.x = there.x;
    batch.y = there.y;
  }
  ++position_.batch;
  return true;
}

void ArrayLoader::visit_state(StateVisitor& visitor) { position_.visit_state(visitor, batches()); }

}  // namespace learn::data
