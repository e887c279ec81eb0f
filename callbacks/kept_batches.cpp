#include "callbacks/kept_batches.h"

#include "framework/learner/find/memory_state.h"
#include "framework/learner/host_staging_visitor.h"

namespace learn::callbacks {
namespace {

Tensor copied(Context& ctx, const Tensor& x) {
  if (!x.defined()) return {};
  Tensor own(ctx.persistent(), x.shape(), x.dtype());
  copy(ctx, x, own);
  return own;
}

}  // namespace

KeptBatches::KeptBatches(Context& ctx, BatchSource& source, std::int64_t epoch, std::int64_t count)
    : first_epoch_(epoch),
      pass_(source.batches()),
      samples_(source.samples()),
      sample_shape_(source.sample_shape()),
      classes_(source.classes()) {
  MemoryState place;
  MemorySaver saver(place);
  HostStagingVisitor saving(ctx, saver);
  source.visit_state(saving);
  while (std::ssize(batches_) < count && pass_ > 0) {
    source.begin(epoch++);
    for (Batch batch; std::ssize(batches_) < count && source.next(batch);)
      batches_.push_back({.x = copied(ctx, batch.x),
                          .y = copied(ctx, batch.y),
                          .index = batch.index,
                          .padding = batch.padding,
                          .whole = batch.whole,
                          .first = batch.first,
                          .spare = batch.spare});
  }
  MemoryLoader loader(place);
  HostStagingVisitor loading(ctx, loader);
  source.visit_state(loading);
}

KeptBatches::KeptBatches(const KeptBatches& others, std::int64_t count)
    : batches_{others.batches_.front()},
      again_(true),
      first_epoch_(others.first_epoch_),
      pass_(count),
      samples_(count * others.batches_.front().samples()),
      sample_shape_(others.sample_shape_),
      classes_(others.classes_) {}

bool KeptBatches::next(Batch& batch) {
  if (next_ == end_ || (next_ == std::ssize(batches_) && !again_)) return false;
  batch = batches_[static_cast<std::size_t>(next_++) % batches_.size()];
  return true;
}

}  // namespace learn::callbacks
