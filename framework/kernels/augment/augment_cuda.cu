// A batch of augmented, normalized images from the data set in device memory, identical bit for bit
// to the host's. A block per image draws once (Philox). Then each thread traces pixels of the
// result back through the steps to their source. Reads and writes each pixel once.
#include "framework/core/dtype.h"
#include "framework/core/random.h"
#include "framework/kernels/augment/augment_kernels.h"
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/runtime/cuda/fault.cuh"

namespace learn::cuda {

using kernels::AugmentBatch;

namespace {

using Kind = AugmentPlan::Step::Kind;

constexpr int kThreads = 256;
constexpr std::uint32_t kMiddle = 0x7FFFFFFFU;

/// The random draw of one image: for each step the shift of rows and columns (for a flip, `column`
/// is 1 if it is applied), for each hole its upper left corner.
struct Place {
  int row, column;
};

__device__ Random4 draw(const AugmentBatch& batch, std::int64_t drawn, int number, int hole) {
  const std::uint64_t element = static_cast<std::uint64_t>(drawn) |
                                (static_cast<std::uint64_t>(number) << 40U) |
                                (static_cast<std::uint64_t>(hole) << 52U);
  return random4(batch.seed, RandomPurpose::augment, batch.epoch, element);
}

__device__ int below(std::uint32_t word, int n) {
  return static_cast<int>(uniform_below(word, static_cast<std::uint32_t>(n)));
}

__device__ Place place_of(const AugmentPlan::Step& step, const Random4& r) {
  switch (step.kind) {
    case Kind::flip:
      return {0, uniform01(r.v[0]) < step.probability ? 1 : 0};
    case Kind::random_crop:
    case Kind::center_crop: {
      const bool random = step.kind == Kind::random_crop;
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

/// Augments with a block per image. A few threads draw; then each thread processes pixels, from the
/// last step back to the first. `channels` is the number of channels of the result for images of 3.
/// It is 0 for images of another number, whose result has `out_channels`.
template <int channels, class T>
__global__ void augment_kernel(const __grid_constant__ AugmentPlan plan,
                               AugmentBatch batch,
                               int out_channels,
                               T* x,
                               std::uint32_t* y,
                               Fault* fault) {
  __shared__ Place places[AugmentPlan::kMaxSteps];
  __shared__ Place holes[AugmentPlan::kMaxHoles];
  const auto slot = static_cast<std::int64_t>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t wanted = batch.index[slot];
  const bool valid = wanted >= 0 && wanted < batch.draws;
  const std::int64_t drawn = valid ? wanted : 0;
  const std::int64_t sample = drawn % batch.samples;
  if (thread == 0 && !valid) note_fault(fault, slot, wanted, batch.samples);
  for (std::int64_t word = thread; word < batch.target_words; word += kThreads)
    y[slot * batch.target_words + word] = batch.targets[sample * batch.target_words + word];
  if (thread < plan.steps) {
    const AugmentPlan::Step& step = plan.step[thread];
    places[thread] = place_of(step, draw(batch, drawn, step.number, 0));
  }
  if (thread < plan.holes) {
    const AugmentPlan::Hole& hole = plan.hole[thread];
    const Random4 r = draw(batch, drawn, hole.number, hole.hole);
    holes[thread] = {below(r.v[0], plan.out_height) - hole.length / 2,
                     below(r.v[1], plan.out_width) - hole.length / 2};
  }
  __syncthreads();

  const int colours = channels == 0 ? plan.channels : 3;
  const std::uint8_t* image =
      batch.images + sample * (static_cast<std::int64_t>(plan.height) * plan.width * colours);
  const int pixels = plan.out_height * plan.out_width;
  for (int i = thread; i < pixels; i += kThreads) {
    const int out_row = i / plan.out_width;
    const int out_column = i % plan.out_width;
    int row = out_row;
    int column = out_column;
    for (int s = plan.steps - 1; s >= 0; --s) {
      const AugmentPlan::Step& step = plan.step[s];
      if (step.kind == Kind::flip) {
        if (places[s].column != 0 && column >= 0) column = step.width - 1 - column;
      } else {
        row = undo(step, row, places[s].row, step.height);
        column = undo(step, column, places[s].column, step.width);
      }
    }
    bool cut = false;
    for (int h = 0; h < plan.holes; ++h) {
      const int down = out_row - holes[h].row;
      const int right = out_column - holes[h].column;
      const int length = plan.hole[h].length;
      cut = cut || (down >= 0 && down < length && right >= 0 && right < length);
    }
    const bool filled = row >= 0 && column >= 0;
    const std::int64_t from = (static_cast<std::int64_t>(row) * plan.width + column) * colours;
    const auto value_of = [&](int c) {
      const float value = filled ? static_cast<float>(image[from + c]) : 0.0F;
      // Divides in the same way as for the host's table, because the bits must agree.
      const float normalized =
          __fdiv_rn(__fsub_rn(__fdiv_rn(value, 255.0F), plan.mean[c]), plan.std[c]);
      return cut ? T{} : device::store<T>(normalized);
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
  launch("augment",
         kernel,
         Grid{batch.batch, kThreads},
         exec,
         plan,
         batch,
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
