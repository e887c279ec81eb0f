// A batch of augmented, normalized images from the data set in device memory, identical bit for bit
// to the host's. A block per image draws once (Philox). Then each thread traces pixels of the
// result back through the steps to their source. Reads and writes each pixel once.
#include "framework/core/dtype.h"
#include "framework/core/random.h"
#include "framework/kernels/augment/augment_draw.h"
#include "framework/kernels/augment/augment_kernels.h"
#include "framework/kernels/augment/erased_hole.h"
#include "framework/kernels/augment/run_step.h"
#include "framework/kernels/augment/work_memory.h"
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/runtime/cuda/fault.cuh"

#include <optional>

namespace learn::cuda {

using kernels::AugmentBatch;

namespace {

using Kind = AugmentPlan::Step::Kind;

constexpr int kThreads = 256;
constexpr std::uint32_t kMiddle = 0x7FFFFFFFU;

/// The random draw of a step that moves: the shift of rows and columns; for a flip, `column` is 1
/// if it is applied.
struct Place {
  int row, column;
};

__device__ AugmentDraw draw_of(const AugmentBatch& batch, std::int64_t drawn) {
  return {batch.seed, batch.epoch, static_cast<std::uint64_t>(drawn)};
}

__device__ int below(std::uint32_t word, int n) {
  return static_cast<int>(uniform_below(word, static_cast<std::uint32_t>(n)));
}

__device__ Place place_of(const AugmentPlan::Step& step, const AugmentDraw& draw) {
  switch (step.kind) {
    case Kind::flip:
      return {0, is_flipped(step.probability, step.alternate, step.number, draw) ? 1 : 0};
    case Kind::random_crop:
    case Kind::center_crop: {
      const bool random = step.kind == Kind::random_crop;
      const Random4 r = draw(step.number);
      return {below(random ? r.v[0] : kMiddle, step.height - step.out_height + 1),
              below(random ? r.v[1] : kMiddle, step.width - step.out_width + 1)};
    }
    default:
      return {-step.pixels, -step.pixels};
  }
}

/// Maps a position after a step to the position before it, or to -1 if no pixel fills it.
__device__ int undo(const AugmentPlan::Step& step, int position, int shift, int extent) {
  if (position < 0) return -1;
  position += shift;
  if (step.kind == Kind::pad_zero) return position < extent ? position : -1;
  if (step.kind == Kind::pad_reflect) {
    if (position < 0) return -position;
    return position < extent ? position : 2 * (extent - 1) - position;
  }
  return position;
}

/// A position in an image; negative where no pixel fills it.
struct Position {
  int row, column;
};

/// Maps a position after steps [first, last), which move, to the position before them.
__device__ Position
undo(const AugmentPlan& plan, int first, int last, const Place* places, Position at) {
  for (int s = last - 1; s >= first; --s) {
    const AugmentPlan::Step& step = plan.step[s];
    if (step.kind == Kind::flip) {
      if (places[s].column != 0 && at.column >= 0) at.column = step.width - 1 - at.column;
    } else {
      at.row = undo(step, at.row, places[s].row, step.height);
      at.column = undo(step, at.column, places[s].column, step.width);
    }
  }
  return at;
}

/// The threads of a block (change_image.h).
class BlockTeam {
 public:
  __device__ BlockTeam(image::TeamMemory* memory, unsigned long long* sum)
      : memory_(memory), sum_(sum) {}

  template <class F>
  __device__ void each(std::int32_t n, F f) const {
    for (std::int32_t i = thread(); i < n; i += kThreads) f(i);
  }
  template <class F>
  __device__ void grid(std::int32_t rows, std::int32_t n, F f) const {
    for (std::int32_t i = thread(); i < rows * n; i += kThreads) f(i / n, i % n);
  }
  template <class Taps, class Value, class Put>
  __device__ void add_up(std::int32_t rows, std::int32_t n, Taps taps, Value value, Put put) const {
    grid(rows, n, [=](std::int32_t row, std::int32_t i) {
      const std::int32_t* const tap = taps(row);
      std::uint32_t sum = 0;
      for (std::int32_t k = 0; k < tap[1]; ++k)
        sum += static_cast<std::uint32_t>(tap[2 + k]) * value(row, k)[i];
      put(row, i, sum);
    });
  }
  template <class F>
  __device__ std::uint64_t sum(std::int32_t n, F f) const {
    if (leads()) *sum_ = 0;
    sync();
    unsigned long long part = 0;
    for (std::int32_t i = thread(); i < n; i += kThreads) part += f(i);
    atomicAdd(sum_, part);
    sync();
    return *sum_;
  }
  template <class F>
  __device__ void tally(std::int32_t n, std::uint32_t* bins, F f) const {
    for (std::int32_t i = thread(); i < n; i += kThreads) atomicAdd(&bins[f(i)], 1U);
  }
  __device__ void sync() const { __syncthreads(); }
  [[nodiscard]] __device__ bool leads() const { return thread() == 0; }
  [[nodiscard]] __device__ image::TeamMemory* shared() const { return memory_; }

 private:
  [[nodiscard]] __device__ static std::int32_t thread() {
    return static_cast<std::int32_t>(threadIdx.x);
  }

  image::TeamMemory* memory_;
  unsigned long long* sum_;
};

/// Runs the first `steps` steps of the plan, of which the last one changes pixels, with a block per
/// image, and writes the images to `changed`.
__global__ void change_images_kernel(const __grid_constant__ AugmentPlan plan,
                                     AugmentBatch batch,
                                     int steps,
                                     image::WorkMemory memory,
                                     image::Block* blocks,
                                     std::uint8_t* changed) {
  __shared__ image::TeamMemory shared;
  __shared__ unsigned long long sum;
  __shared__ Place places[AugmentPlan::kMaxSteps];
  const BlockTeam team(&shared, &sum);
  const auto slot = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t wanted = batch.index[slot];
  const std::int64_t drawn = wanted >= 0 && wanted < batch.draws ? wanted : 0;
  const AugmentDraw draw = draw_of(batch, drawn);
  team.each(steps, [&](std::int32_t s) {
    if (plan.step[s].moves()) places[s] = place_of(plan.step[s], draw);
  });
  team.sync();
  image::WorkImage work =
      memory.divide(blocks + slot * memory.blocks(), plan.height, plan.width, plan.channels);
  const std::uint8_t* from =
      batch.images +
      drawn % batch.samples * (static_cast<std::int64_t>(plan.height) * plan.width * plan.channels);
  int width = plan.width;
  int first = 0;
  for (int s = 0; s < steps; ++s) {
    const AugmentPlan::Step& step = plan.step[s];
    if (step.moves()) continue;
    const int channels = plan.channels;
    std::uint8_t* const to = work.next;
    team.grid(step.height, step.width, [&](std::int32_t row, std::int32_t column) {
      const Position at = undo(plan, first, s, places, {row, column});
      const std::int64_t source =
          (static_cast<std::int64_t>(at.row) * width + at.column) * channels;
      std::uint8_t* const out =
          to + (static_cast<std::int64_t>(row) * step.width + column) * channels;
      for (int c = 0; c < channels; ++c)
        out[c] = at.row >= 0 && at.column >= 0 ? from[source + c] : std::uint8_t{0};
    });
    team.sync();
    work.swap();
    work.height = step.height;
    work.width = step.width;
    image::run_step(team, step, draw, work);
    from = work.now;
    width = work.width;
    first = s + 1;
  }
  const std::uint8_t* const now = work.now;
  const std::int32_t bytes = work.height * work.width * work.channels;
  std::uint8_t* const out = changed + slot * bytes;
  team.each(bytes, [=](std::int32_t i) { out[i] = now[i]; });
}

/// The work that `change_images_kernel` has done before.
struct Changed {
  int steps;                   ///< the number of steps done
  int height, width;           ///< of the images after them
  const std::uint8_t* images;  ///< one for each place of the batch; null if `steps` is 0
};

/// Augments with a block per image. A few threads draw; then each thread processes pixels, from the
/// last step back to the first that is not done yet. `channels` is the number of channels of the
/// result for images of 3. It is 0 for images of another number, whose result has `out_channels`.
template <int channels, class T>
__global__ void augment_kernel(const __grid_constant__ AugmentPlan plan,
                               AugmentBatch batch,
                               Changed before,
                               int out_channels,
                               T* x,
                               std::uint32_t* y,
                               Fault* fault) {
  __shared__ Place places[AugmentPlan::kMaxSteps];
  __shared__ image::Hole holes[AugmentPlan::kMaxHoles];
  const auto slot = static_cast<std::int64_t>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t wanted = batch.index[slot];
  const bool valid = wanted >= 0 && wanted < batch.draws;
  const std::int64_t drawn = valid ? wanted : 0;
  const std::int64_t sample = drawn % batch.samples;
  if (thread == 0 && !valid) note_fault(fault, slot, wanted, batch.samples);
  for (std::int64_t word = thread; word < batch.target_words; word += kThreads)
    y[slot * batch.target_words + word] = batch.targets[sample * batch.target_words + word];
  const AugmentDraw draw = draw_of(batch, drawn);
  if (thread >= before.steps && thread < plan.steps)
    places[thread] = place_of(plan.step[thread], draw);
  if (thread < plan.holes)
    holes[thread] = image::draw_hole(plan.hole[thread], draw, plan.out_height, plan.out_width);
  __syncthreads();

  const int colours = channels == 0 ? plan.channels : 3;
  const std::uint8_t* const pixels_before =
      before.steps > 0
          ? before.images +
                slot * (static_cast<std::int64_t>(before.height) * before.width * colours)
          : batch.images + sample * (static_cast<std::int64_t>(plan.height) * plan.width * colours);
  const int width = before.steps > 0 ? before.width : plan.width;
  const int pixels = plan.out_height * plan.out_width;
  for (int i = thread; i < pixels; i += kThreads) {
    const int out_row = i / plan.out_width;
    const int out_column = i % plan.out_width;
    const auto [row, column] = undo(plan, before.steps, plan.steps, places, {out_row, out_column});
    int cut = -1;  // the last hole that covers the pixel
    for (int h = 0; h < plan.holes; ++h)
      if (holes[h].covers(out_row, out_column)) cut = h;
    const bool filled = row >= 0 && column >= 0;
    const std::int64_t from = (static_cast<std::int64_t>(row) * width + column) * colours;
    const auto value_of = [&](int c) {
      const float value = filled ? static_cast<float>(pixels_before[from + c]) : 0.0F;
      // Divides in the same way as for the host's table, because the bits must agree.
      const float normalized =
          __fdiv_rn(__fsub_rn(__fdiv_rn(value, 255.0F), plan.mean[c]), plan.std[c]);
      if (cut < 0) return device::store<T>(normalized);
      return plan.hole[cut].noise
                 ? device::store<T>(image::noise_of(
                       plan.hole[cut], draw, static_cast<std::int64_t>(i) * colours + c))
                 : T{};
    };
    if constexpr (channels == 0) {
      T* const out = x + (slot * pixels + i) * out_channels;
      for (int c = 0; c < out_channels; ++c) out[c] = c < colours ? value_of(c) : T{};
    } else {
      device::Pack<T, channels == 3 ? 1 : channels> pack{};
      T* const out = x + (slot * pixels + i) * channels;
#pragma unroll
      for (int c = 0; c < 3; ++c)
        if constexpr (channels == 3)
          out[c] = value_of(c);
        else
          pack.v[c] = value_of(c);
      if constexpr (channels != 3) device::store_pack(out, 0, pack);
    }
  }
}

/// The images after the last step that changes pixels, and the memory for it.
class ChangedImages {
 public:
  ChangedImages(const Exec& exec, const AugmentPlan& plan, const AugmentBatch& batch) {
    image::WorkMemory needed;
    for (int s = 0; s < plan.steps; ++s) {
      const AugmentPlan::Step& step = plan.step[s];
      if (step.moves()) continue;
      changed_ = {s + 1, step.out_height, step.out_width, nullptr};
      needed.add(step, plan.channels);
    }
    if (changed_.steps == 0) return;
    constexpr std::int64_t kFloats = sizeof(image::Block) / sizeof(float);
    work_.emplace(exec, batch.batch * needed.blocks() * kFloats);
    const std::int64_t bytes = batch.batch * changed_.height * changed_.width * plan.channels;
    images_.emplace(exec, (bytes + 3) / 4);
    auto* const images = reinterpret_cast<std::uint8_t*>(images_->data());
    launch("change_images",
           change_images_kernel,
           Grid{batch.batch, kThreads},
           exec,
           plan,
           batch,
           changed_.steps,
           needed,
           reinterpret_cast<image::Block*>(work_->data()),
           images);
    changed_.images = images;
  }
  operator Changed() const noexcept { return changed_; }

 private:
  Changed changed_{};
  std::optional<FloatWorkspace> work_, images_;
};

}  // namespace

template <class T>
void augment(const Exec& exec,
             const AugmentPlan& plan,
             const AugmentBatch& batch,
             std::int64_t channels,
             T* x,
             std::uint32_t* y) {
  const bool colours = plan.channels == 3;
  const auto kernel = colours && channels == 3   ? augment_kernel<3, T>
                      : colours && channels == 4 ? augment_kernel<4, T>
                      : colours && channels == 8 ? augment_kernel<8, T>
                                                 : augment_kernel<0, T>;
  Fault* const fault = exec.fault(FaultKind::sample_index);
  const ChangedImages before(exec, plan, batch);
  launch("augment",
         kernel,
         Grid{batch.batch, kThreads},
         exec,
         plan,
         batch,
         Changed(before),
         static_cast<int>(channels),
         x,
         y,
         fault);
}

#define LEARN_INSTANTIATE(T) \
  template void augment(     \
      const Exec&, const AugmentPlan&, const AugmentBatch&, std::int64_t, T*, std::uint32_t*);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
