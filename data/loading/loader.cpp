#include "data/loading/loader.h"

#include "data/loading/device_batches.h"
#include "data/loading/pass_position.h"
#include "data/loading/prepare_sample.h"
#include "framework/core/error.h"
#include "framework/core/round_up.h"
#include "framework/core/threads/start_threads.h"
#include "framework/runtime/uploads.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace learn::data {
namespace {

/// Reused host memory for one batch.
struct Slot {
  Tensor x, y;
  std::exception_ptr error;
  std::int64_t error_at = 0;  // the part that the error comes from
  std::int64_t parts_left = 0;
};

/// Allocates the samples of a batch, all of one form.
Tensor samples_of_batch(Arena& arena, const Shape& sample, std::int64_t size, DType dtype) {
  Shape shape{size};
  for (const std::int64_t extent : sample) shape.push_back(extent);
  return {arena, shape, dtype};
}

/// Allocates the targets of this many samples.
Tensor targets_of_batch(Arena& arena, const Dataset& dataset, std::int64_t size) {
  if (dataset.target_kind == TargetKind::classes) return {arena, {size}, DType::i64};
  return {arena, {size, static_cast<std::int64_t>(dataset.classes.size())}, DType::f32};
}

}  // namespace

struct Loader::Impl {
  Impl(Context& context, const Dataset& data, LoaderOptions opts)
      : ctx(context),
        dataset(data),
        options(std::move(opts)),
        pipeline(options.transforms, options.normalization, data.form()),
        order(data, options.sampling, options.shuffle, options.seed) {
    const std::int64_t full = order.size() / options.batch_size;
    const bool rest = order.size() % options.batch_size != 0 && !options.drop_last;
    batches = full + (rest ? 1 : 0);
    if (options.max_batches > 0) batches = std::min(batches, options.max_batches);
    if (batches == 0)
      fail<DataError>(
          "'{}' has {} samples in a pass, too few for one batch of {}; use a smaller batch size",
          data.name,
          order.size(),
          options.batch_size);
    device = DeviceBatches::make(ctx, dataset, options, order);
    if (device != nullptr) return;
    host = make_upload_arena(ctx, "loader");
    // One more than prefetched, for the batch that the caller is still using.
    slots.resize(options.workers == 0 ? 1 : static_cast<std::size_t>(options.prefetch) + 1);
    const std::int64_t size = largest_batch();
    for (Slot& slot : slots) {
      slot.x = samples_of_batch(*host, pipeline.out_shape(), size, options.dtype);
      slot.y = targets_of_batch(*host, dataset, size);
    }
    if (ctx.device().is_cuda())
      uploads = std::make_unique<Uploads>(ctx, slots.front().x, slots.front().y);
    workers = start_threads(
        options.workers, "loader workers", [this](const std::stop_token& stop) { work(stop); });
  }

  [[nodiscard]] Slot& slot_of(std::int64_t batch) {
    return slots[static_cast<std::size_t>(batch) % slots.size()];
  }
  [[nodiscard]] std::int64_t first_sample(std::int64_t batch) const {
    return std::min(batch * options.batch_size, order.size());
  }

  [[nodiscard]] std::int64_t largest_batch() const {
    return std::min(options.batch_size, order.size());
  }
  [[nodiscard]] std::int64_t size_of(std::int64_t batch) const {
    return first_sample(batch + 1) - first_sample(batch);
  }
  /// Returns the draws of the pass that are the share of batch number `batch`.
  [[nodiscard]] RowRange share_of(std::int64_t batch) const {
    RowRange rows = share.computed(size_of(batch));
    rows.first += first_sample(batch);
    return rows;
  }

  /// Sets the share of the starting pass, and the parts in which workers prepare it. Only while no
  /// worker is busy.
  void set_share(const Share& starting) {
    share = starting;
    const std::int64_t rows = ceil_div(largest_batch(), static_cast<std::int64_t>(share.ranks));
    constexpr std::int64_t kLeast = 8;  // smaller parts cost more to assign than to prepare
    part = std::max(kLeast, ceil_div(rows, std::max(1, options.workers)));
    parts = ceil_div(rows, part);
  }

  /// Sets the share's position in batch number `batch`.
  void describe(std::int64_t batch, Batch& out) const {
    const bool shared = share.ranks > 1;
    const std::int64_t samples = size_of(batch);
    out.whole = shared ? samples : 0;
    out.first = shared ? share.computed(samples).first : 0;
    out.spare = shared && share.of(samples).count == 0;
    out.index = samples_of(batch);
  }

  /// Prepares rows [from, to) of the share of batch number `batch` of the running pass in its slot.
  void fill(std::int64_t batch, std::int64_t from, std::int64_t to, SampleScratch& scratch) {
    const RowRange rows = share_of(batch);
    to = std::min(to, rows.count);
    if (from >= to) return;
    const std::span chosen = std::span(draws).subspan(static_cast<std::size_t>(rows.first + from),
                                                      static_cast<std::size_t>(to - from));
    Slot& slot = slot_of(batch);
    fill_targets(slot.y.rows(from, to - from), chosen);
    Tensor x = slot.x.rows(from, to - from);
    switch (options.dtype) {
      case DType::f16:
        return fill_samples(x.span<Half>(), chosen, scratch);
      case DType::bf16:
        return fill_samples(x.span<BFloat16>(), chosen, scratch);
      default:
        return fill_samples(x.span<float>(), chosen, scratch);
    }
  }

  void fill_targets(Tensor y, std::span<const std::int64_t> chosen) const {
    if (dataset.target_kind == TargetKind::classes) {
      auto label = y.span<std::int64_t>().begin();
      for (const std::int64_t draw : chosen)
        *label++ = dataset.labels[static_cast<std::size_t>(order.sample_of(draw))];
    } else {
      auto target = y.span<float>().begin();
      for (const std::int64_t draw : chosen)
        target = std::ranges::copy(dataset.targets_of(order.sample_of(draw)), target).out;
    }
  }

  template <class T>
  void fill_samples(std::span<T> x, std::span<const std::int64_t> chosen, SampleScratch& scratch) {
    T* out = x.data();
    for (const std::int64_t draw : chosen) {
      prepare_sample(pipeline,
                     dataset,
                     order.sample_of(draw),
                     {.seed = options.seed,
                      .epoch = static_cast<std::uint64_t>(epoch),
                      .number = static_cast<std::uint64_t>(draw)},
                     out,
                     scratch);
      out += pipeline.out_shape().elements();
    }
  }

  /// Returns whether a batch can be prepared. A slot is free once the caller has requested the
  /// batch after the one in it.
  [[nodiscard]] bool may_make() const {
    const std::int64_t released = std::max<std::int64_t>(0, taken - 1);
    const std::int64_t batch = next_part / parts;
    return batch < end && batch < released + static_cast<std::int64_t>(slots.size());
  }

  void work(const std::stop_token& stop) {
    SampleScratch scratch;
    std::unique_lock lock(mutex);
    while (wake_workers.wait(lock, stop, [&] { return may_make(); })) {
      const std::int64_t batch = next_part / parts;
      const std::int64_t mine = next_part++ % parts;
      Slot& slot = slot_of(batch);
      if (mine == 0) {
        slot.error = nullptr;
        slot.parts_left = parts;
      }
      ++busy;
      lock.unlock();
      std::exception_ptr error;
      try {
        fill(batch, mine * part, (mine + 1) * part, scratch);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      --busy;
      if (error && (!slot.error || mine < slot.error_at)) {
        slot.error = error;
        slot.error_at = mine;
      }
      --slot.parts_left;
      wake_caller.notify_all();
    }
  }

  void start(std::int64_t new_epoch, std::int64_t position) {
    if (uploads != nullptr) uploads->wait();
    std::unique_lock lock(mutex);
    end = 0;  // start no new work; wait for the rest
    wake_caller.wait(lock, [&] { return busy == 0; });
    epoch = new_epoch;
    draws = order.draws(epoch);
    set_share(next_share);
    if (device != nullptr) device->begin(draws);
    taken = position;
    next_part = position * parts;
    end = batches;
    lock.unlock();
    wake_workers.notify_all();
  }

  [[nodiscard]] std::vector<std::int64_t> samples_of(std::int64_t batch) const {
    const RowRange rows = share_of(batch);
    const auto first = draws.begin() + rows.first;
    std::vector<std::int64_t> samples(first, first + rows.count);
    for (std::int64_t& sample : samples) sample = order.sample_of(sample);
    return samples;
  }

  bool next_on_device(Batch& batch) {
    if (taken >= end) return false;
    const RowRange rows = share_of(taken);
    device->fill(rows.first, rows.count, epoch, batch);
    describe(taken++, batch);
    return true;
  }

  [[nodiscard]] PassPosition position() const { return {epoch, taken, resumes}; }

  Slot* take() {
    if (taken >= end) return nullptr;
    if (uploads != nullptr) uploads->wait();  // the last batch's slot becomes free
    std::unique_lock lock(mutex);
    const std::int64_t batch = taken++;
    Slot& slot = slot_of(batch);
    if (workers.empty()) {
      lock.unlock();
      try {
        fill(batch, 0, options.batch_size, inline_scratch);
      } catch (...) {
        end = 0;
        throw;
      }
      return &slot;
    }
    lock.unlock();
    wake_workers.notify_all();
    lock.lock();
    wake_caller.wait(lock,
                     [&] { return next_part >= (batch + 1) * parts && slot.parts_left == 0; });
    if (slot.error) {
      end = 0;
      std::rethrow_exception(std::exchange(slot.error, nullptr));
    }
    return &slot;
  }

  Context& ctx;
  const Dataset& dataset;
  LoaderOptions options;
  Pipeline pipeline;
  PassOrder order;
  std::unique_ptr<Arena> host;  // memory of the slots
  std::vector<Slot> slots;
  std::unique_ptr<Uploads> uploads;  // from the slots, for batches that are uploaded to a device
  std::int64_t batches = 0;
  std::unique_ptr<DeviceBatches> device;  // if set, there are neither slots nor workers
  SampleScratch inline_scratch;
  Share next_share;      // of the passes that are started from now on
  bool resumes = false;  // the next pass starts at `taken`, if it is for this epoch

  // Guards all below. `draws`, `epoch`, `share` and `part` change only while workers are idle.
  std::mutex mutex;
  std::condition_variable_any wake_workers;
  std::condition_variable wake_caller;
  std::vector<std::int64_t> draws;
  std::int64_t epoch = 0;
  Share share;                        // of the batches of this pass
  std::int64_t part = 1;              // rows of a batch that a worker takes at a time
  std::int64_t parts = 1;             // parts per batch
  std::int64_t next_part = 0;         // the next part to prepare, counted through the pass
  std::int64_t taken = 0;             // batches handed out, including the current one
  std::int64_t end = 0;               // batches in this pass; 0: no pass
  int busy = 0;                       // workers that are preparing a part
  std::vector<std::jthread> workers;  // last: must be destroyed before the other members
};

Loader::Loader(Context& ctx, const Dataset& dataset, LoaderOptions options) {
  dataset.validate();
  if (options.batch_size < 1) fail<UsageError>("batch size {} is below 1", options.batch_size);
  if (options.max_batches < 0)
    fail<UsageError>("max_batches {} is below 0 (0: no limit)", options.max_batches);
  constexpr int kMaxWorkers = 256;
  if (options.workers < 0 || options.workers > kMaxWorkers)
    fail<UsageError>("{} loader workers; expected 0 to {}", options.workers, kMaxWorkers);
  if (options.prefetch < 1) fail<UsageError>("prefetch {} is below 1", options.prefetch);
  if (options.dtype != DType::f32 && !is_half(options.dtype))
    fail<UsageError>("images must be f32, f16 or bf16, not {}", options.dtype);
  impl_ = std::make_unique<Impl>(ctx, dataset, std::move(options));
}

Loader::~Loader() = default;

std::int64_t Loader::batches() const { return impl_->batches; }

std::int64_t Loader::samples() const { return impl_->first_sample(impl_->batches); }

std::int64_t Loader::smallest_batch() const {
  return samples() - impl_->first_sample(impl_->batches - 1);
}

Shape Loader::sample_shape() const { return impl_->pipeline.out_shape(); }

int Loader::classes() const { return static_cast<int>(impl_->dataset.classes.size()); }

const Dataset& Loader::dataset() const noexcept { return impl_->dataset; }

const LoaderOptions& Loader::options() const noexcept { return impl_->options; }

bool Loader::on_device() const noexcept { return impl_->device != nullptr; }

bool Loader::set_share(const Share& share) {
  if (share.ranks < 1 || share.rank < 0 || share.rank >= share.ranks)
    fail<UsageError>(
        "rank {} of {} cannot have a share of the batches; ranks count from 0, and there is at "
        "least 1",
        share.rank,
        share.ranks);
  impl_->next_share = share;
  return true;
}

void Loader::begin(std::int64_t epoch) {
  PassPosition position = impl_->position();
  impl_->resumes = false;
  impl_->start(epoch, position.first_batch(epoch));
}

bool Loader::next(Batch& batch) {
  if (impl_->device != nullptr) return impl_->next_on_device(batch);
  const Slot* slot = impl_->take();
  if (slot == nullptr) return false;
  impl_->describe(impl_->taken - 1, batch);
  const auto size = static_cast<std::int64_t>(batch.index.size());
  batch.x = slot->x.rows(0, size);
  batch.y = slot->y.rows(0, size);
  if (impl_->uploads != nullptr) {
    const auto there = impl_->uploads->bring(batch.x, batch.y, impl_->taken - 1);
    batch.x = there.x;
    batch.y = there.y;
  }
  return true;
}

void Loader::visit_state(StateVisitor& visitor) {
  PassPosition position = impl_->position();
  position.visit_state(visitor, batches());
  if (!visitor.loading()) return;
  impl_->start(position.epoch, position.resumes ? position.batch : batches());
  impl_->resumes = position.resumes;
}

}  // namespace learn::data
