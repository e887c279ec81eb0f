#include "data/loader.h"

#include "data/device_batches.h"
#include "data/epoch_order.h"
#include "data/pass_position.h"
#include "framework/core/error.h"
#include "framework/core/start_threads.h"
#include "framework/runtime/uploads.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace learn::data {
namespace {

/// Host memory for one batch, reused again and again.
struct Slot {
  Tensor x, y;
  std::vector<std::int64_t> index;
  std::exception_ptr error;
  bool ready = false;
};

/// Memory for the targets of so many samples.
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
        pipeline(options.transforms, options.normalization, data.height, data.width),
        order(static_cast<std::size_t>(data.size())) {
    const std::int64_t full = data.size() / options.batch_size;
    const bool rest = data.size() % options.batch_size != 0 && !options.drop_last;
    batches = full + (rest ? 1 : 0);
    if (options.max_batches > 0) batches = std::min(batches, options.max_batches);
    if (batches == 0)
      fail<DataError>("'{}' has {} images: not one batch of {}; take a smaller batch size",
                      data.name,
                      data.size(),
                      options.batch_size);
    device = DeviceBatches::make(ctx, dataset, options);
    if (device != nullptr) return;
    host = make_upload_arena(ctx, "loader");
    // One more than are prefetched: the batch that the caller is still using.
    slots.resize(options.workers == 0 ? 1 : static_cast<std::size_t>(options.prefetch) + 1);
    const std::int64_t size = std::min(options.batch_size, data.size());
    for (Slot& slot : slots) {
      slot.x = Tensor(*host, {size, pipeline.out_height(), pipeline.out_width(), 3}, options.dtype);
      slot.y = targets_of_batch(*host, dataset, size);
      slot.index.reserve(static_cast<std::size_t>(size));
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
    return std::min(batch * options.batch_size, dataset.size());
  }

  /// Prepares batch number `batch` of the running pass in its slot.
  void fill(std::int64_t batch, Pipeline::Scratch& scratch) {
    Slot& slot = slot_of(batch);
    slot.index.assign(order.begin() + first_sample(batch), order.begin() + first_sample(batch + 1));
    fill_targets(slot);
    switch (options.dtype) {
      case DType::f16:
        return fill_images<Half>(slot, scratch);
      case DType::bf16:
        return fill_images<BFloat16>(slot, scratch);
      default:
        return fill_images<float>(slot, scratch);
    }
  }

  void fill_targets(Slot& slot) const {
    if (dataset.target_kind == TargetKind::classes) {
      auto label = slot.y.span<std::int64_t>().begin();
      for (const std::int64_t i : slot.index)
        *label++ = dataset.labels[static_cast<std::size_t>(i)];
    } else {
      auto target = slot.y.span<float>().begin();
      for (const std::int64_t i : slot.index)
        target = std::ranges::copy(dataset.targets_of(i), target).out;
    }
  }

  template <class T>
  void fill_images(Slot& slot, Pipeline::Scratch& scratch) {
    T* out = slot.x.span<T>().data();
    for (const std::int64_t i : slot.index) {
      pipeline.run(dataset.image(i),
                   options.seed,
                   static_cast<std::uint64_t>(epoch),
                   static_cast<std::uint64_t>(i),
                   out,
                   scratch);
      out += pipeline.out_height() * pipeline.out_width() * 3;
    }
  }

  /// A slot is free once the caller has asked for the batch after the one that was in it.
  [[nodiscard]] bool may_make() const {
    const std::int64_t released = std::max<std::int64_t>(0, taken - 1);
    return next_to_make < end && next_to_make < released + static_cast<std::int64_t>(slots.size());
  }

  void work(const std::stop_token& stop) {
    Pipeline::Scratch scratch;
    std::unique_lock lock(mutex);
    while (wake_workers.wait(lock, stop, [&] { return may_make(); })) {
      const std::int64_t batch = next_to_make++;
      ++busy;
      lock.unlock();
      std::exception_ptr error;
      try {
        fill(batch, scratch);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      --busy;
      slot_of(batch).error = error;
      slot_of(batch).ready = true;
      wake_caller.notify_all();
    }
  }

  void start(std::int64_t new_epoch, std::int64_t position) {
    if (uploads != nullptr) uploads->wait();
    std::unique_lock lock(mutex);
    end = 0;  // nothing new is begun; wait for what is under way
    wake_caller.wait(lock, [&] { return busy == 0; });
    epoch = new_epoch;
    set_epoch_order(order, options.shuffle, options.seed, epoch);
    if (device != nullptr) device->begin(order);
    for (Slot& slot : slots) {
      slot.ready = false;
      slot.error = nullptr;
    }
    taken = next_to_make = position;
    first = position;
    end = batches;
    lock.unlock();
    wake_workers.notify_all();
  }

  bool next_on_device(Batch& batch) {
    if (taken >= end) return false;
    const std::int64_t from = first_sample(taken);
    const std::int64_t to = first_sample(taken + 1);
    ++taken;
    device->fill(from, to - from, epoch, batch);
    batch.index.assign(order.begin() + from, order.begin() + to);
    return true;
  }

  [[nodiscard]] PassPosition position() const { return {epoch, taken, resumes}; }

  Slot* take() {
    if (taken >= end) return nullptr;
    if (uploads != nullptr) uploads->wait();  // the last batch's slot becomes free
    std::unique_lock lock(mutex);
    Slot& slot = slot_of(taken);
    if (taken > first) slot_of(taken - 1).ready = false;
    ++taken;
    if (workers.empty()) {
      lock.unlock();
      try {
        fill(taken - 1, inline_scratch);
      } catch (...) {
        end = 0;
        throw;
      }
      return &slot;
    }
    lock.unlock();
    wake_workers.notify_all();
    lock.lock();
    wake_caller.wait(lock, [&] { return slot.ready; });
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
  std::unique_ptr<Arena> host;  // memory of the slots
  std::vector<Slot> slots;
  std::unique_ptr<Uploads> uploads;  // from the slots, if batches travel to a device
  std::int64_t batches = 0;
  std::unique_ptr<DeviceBatches> device;  // then there are neither slots nor workers
  Pipeline::Scratch inline_scratch;
  bool resumes = false;  // the next pass, if it is this epoch's, begins at `taken`

  std::mutex mutex;  // guards what follows; `order` and `epoch` change only while nobody is busy
  std::condition_variable_any wake_workers;
  std::condition_variable wake_caller;
  std::vector<std::int64_t> order;
  std::int64_t epoch = 0;
  std::int64_t first = 0;             // batch at which this pass was begun or resumed
  std::int64_t next_to_make = 0;      // next batch that a worker takes on
  std::int64_t taken = 0;             // batches handed out, the running one included
  std::int64_t end = 0;               // batches in this pass; 0: no pass
  int busy = 0;                       // workers that prepare a batch
  std::vector<std::jthread> workers;  // last: they must end before anything else goes
};

Loader::Loader(Context& ctx, const Dataset& dataset, LoaderOptions options) {
  dataset.validate();
  if (dataset.channels != 3)
    fail<DataError>("'{}' has {} channels, expected 3", dataset.name, dataset.channels);
  if (options.batch_size < 1) fail<UsageError>("batch size {} is below 1", options.batch_size);
  if (options.max_batches < 0) fail<UsageError>("{} batches per pass", options.max_batches);
  constexpr int kMaxWorkers = 256;
  if (options.workers < 0 || options.workers > kMaxWorkers)
    fail<UsageError>("{} loader workers, expected 0 to {}", options.workers, kMaxWorkers);
  if (options.prefetch < 1) fail<UsageError>("prefetch {} is below 1", options.prefetch);
  if (options.dtype != DType::f32 && !is_half(options.dtype))
    fail<UsageError>("images can be f32, f16 or bf16, not {}", options.dtype);
  impl_ = std::make_unique<Impl>(ctx, dataset, std::move(options));
}

Loader::~Loader() = default;

std::int64_t Loader::batches() const { return impl_->batches; }

std::int64_t Loader::samples() const { return impl_->first_sample(impl_->batches); }

Shape Loader::sample_shape() const {
  return {impl_->pipeline.out_height(), impl_->pipeline.out_width(), 3};
}

int Loader::classes() const { return static_cast<int>(impl_->dataset.classes.size()); }

const Dataset& Loader::dataset() const noexcept { return impl_->dataset; }

const LoaderOptions& Loader::options() const noexcept { return impl_->options; }

bool Loader::on_device() const noexcept { return impl_->device != nullptr; }

void Loader::begin(std::int64_t epoch) {
  PassPosition position = impl_->position();
  impl_->resumes = false;
  impl_->start(epoch, position.first_batch(epoch));
}

bool Loader::next(Batch& batch) {
  if (impl_->device != nullptr) return impl_->next_on_device(batch);
  const Slot* slot = impl_->take();
  if (slot == nullptr) return false;
  const auto size = static_cast<std::int64_t>(slot->index.size());
  batch.x = slot->x.rows(0, size);
  batch.y = slot->y.rows(0, size);
  batch.index = slot->index;
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
