#include "framework/kernels/conv/cpu/conv_grouped.h"

#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/grouped_parts.h"
#include "framework/kernels/conv/cpu/packed_weights.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace learn::cpu {
namespace {

constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kTaskFloats = 64LL * 1024;  // of the source; fits the second-level cache

/// A forward pass or a gradient of the input.
struct GroupedPass {
  GroupedImages images;
  std::int64_t n;
  std::vector<GroupedPart> parts;
  const float* from;
  float* to;
  const float* weights;  // packed
  const float* bias;
  bool accumulate;
  const ConvEpilogue* epilogue = nullptr;

  [[nodiscard]] std::int64_t to_row() const { return images.to_w * images.channels; }
};

/// Applies the epilogue to the channels [first, last) of some rows, counted over all images.
void apply_epilogue(const GroupedPass& p,
                    std::int64_t row,
                    std::int64_t rows,
                    std::int64_t first,
                    std::int64_t last) {
  std::vector<float*> pixels(static_cast<std::size_t>(rows * p.images.to_w));
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = p.to + row * p.to_row() + static_cast<std::int64_t>(i) * p.images.channels;
  p.epilogue->apply(
      pixels.data(), static_cast<std::int64_t>(pixels.size()), first, first, last - first);
}

/// Each task computes some rows of one image, and some of their channels if there are few rows.
void run_grouped(const ConvResources& on, const GroupedPass& p) {
  const GroupedImages& i = p.images;
  // The last vector writes channels of the one before if it is not full, in the same task.
  const std::int64_t whole_blocks = i.channels / on.kernels.lanes;
  const std::int64_t source_row = std::max<std::int64_t>(1, i.from_w * i.channels);
  const std::int64_t wanted = ceil_div(i.from_h * source_row, kTaskFloats);
  const std::int64_t bands = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, i.to_h));
  const std::int64_t slices = std::clamp<std::int64_t>(
      kWantedTasks / std::max<std::int64_t>(1, p.n * bands), 1, whole_blocks);
  on.threads.run(p.n * bands * slices, [&](std::int64_t task) {
    const std::int64_t slice = task % slices;
    const std::int64_t band = task / slices % bands;
    const std::int64_t image = task / slices / bands;
    const std::int64_t begin = i.to_h * band / bands;
    const std::int64_t end = i.to_h * (band + 1) / bands;
    const std::int64_t first_block = whole_blocks * slice / slices;
    const std::int64_t last_block = slice + 1 < slices ? whole_blocks * (slice + 1) / slices
                                                       : ceil_div(i.channels, on.kernels.lanes);
    for (const GroupedPart& part : p.parts)
      part.visit(i, begin, end, [&](simd::GroupedGrid grid, std::int64_t from, std::int64_t to) {
        grid.first_block = first_block;
        grid.last_block = last_block;
        on.kernels.multiply_groups(grid,
                                   p.from + image * i.from_h * i.from_w * i.channels + from,
                                   p.weights,
                                   p.bias,
                                   p.to + image * i.to_h * p.to_row() + to,
                                   p.accumulate);
      });
    if (p.epilogue != nullptr)
      apply_epilogue(p,
                     image * i.to_h + begin,
                     end - begin,
                     first_block * on.kernels.lanes,
                     std::min(i.channels, last_block * on.kernels.lanes));
  });
}

/// Packs weights for `multiply_groups`. `at(result, tap, channel)` is the offset of the weight
/// between a result and a channel of its group.
template <class At>
void pack(const ConvResources& on, const ConvGeometry& g, const float* weight, float* to, At&& at) {
  const std::int64_t lanes = on.kernels.lanes;
  const std::int64_t window = g.r * g.s;
  const std::int64_t width = g.group_c();
  on.threads.parallel_for(ceil_div(g.c, lanes), 16, [&](std::int64_t begin, std::int64_t end) {
    float* out = to + begin * window * width * lanes;
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = std::min(block * lanes, g.c - lanes);
      for (std::int64_t tap = 0; tap < window; ++tap)
        for (std::int64_t channel = 0; channel < width; ++channel)
          for (std::int64_t lane = 0; lane < lanes; ++lane)
            *out++ = weight[at(first + lane, tap, channel)];
    }
  });
}

std::int64_t packed_floats(const ConvResources& on, const ConvGeometry& g) {
  return round_up(g.c, on.kernels.lanes) * g.r * g.s * g.group_c();
}

}  // namespace

const simd::Kernels* grouped_kernels(const ConvGeometry& g) {
  const std::int64_t width = g.group_c();
  if (g.options.groups == 1 || g.group_k() != width ||
      !std::has_single_bit(static_cast<std::uint64_t>(width)))
    return nullptr;
  const simd::Kernels* best = nullptr;
  for (const simd::Kernels* kernels : simd::supported_kernels().all)
    if (kernels != nullptr && width <= kernels->lanes && kernels->lanes <= g.c) best = kernels;
  return best;
}

void grouped_forward(const ConvResources& on,
                     const ConvGeometry& g,
                     const float* x,
                     const float* weight,
                     const float* bias,
                     float* y,
                     const ConvEpilogue* epilogue) {
  const Conv2dOptions& o = g.options;
  const std::int64_t width = g.group_c();
  const PackedWeights packed(
      on, weight, PackedWeights::grouped_form(o.groups), packed_floats(on, g), [&](float* to) {
        pack(on, g, weight, to, [=](std::int64_t k, std::int64_t tap, std::int64_t c) {
          return (k * g.r * g.s + tap) * width + c;
        });
      });
  const GroupedImages images{g.h, g.w, g.p, g.q, g.r, g.s, g.c, width};
  run_grouped(on,
              {.images = images,
               .n = g.n,
               .parts = grouped_parts(images,
                                      forward_classes(g.p, g.h, g.r, o.stride_h, o.pad_top),
                                      forward_classes(g.q, g.w, g.s, o.stride_w, o.pad_left)),
               .from = x,
               .to = y,
               .weights = packed.data(),
               .bias = bias,
               .accumulate = false,
               .epilogue = epilogue});
}

void grouped_backward_data(const ConvResources& on,
                           const ConvGeometry& g,
                           const float* dy,
                           const float* weight,
                           float* dx,
                           GradMode mode) {
  const Conv2dOptions& o = g.options;
  const std::int64_t width = g.group_c();
  const FloatWorkspace packed(on.workspace, packed_floats(on, g));
  pack(on, g, weight, packed.data(), [=](std::int64_t c, std::int64_t tap, std::int64_t k) {
    return ((c / width * width + k) * g.r * g.s + tap) * width + c % width;
  });
  const GroupedImages images{g.p, g.q, g.h, g.w, g.r, g.s, g.c, width};
  run_grouped(on,
              {.images = images,
               .n = g.n,
               .parts = grouped_parts(images,
                                      backward_classes(g.h, g.p, g.r, o.stride_h, o.pad_top),
                                      backward_classes(g.w, g.q, g.s, o.stride_w, o.pad_left)),
               .from = dy,
               .to = dx,
               .weights = packed.data(),
               .bias = nullptr,
               .accumulate = mode == GradMode::accumulate});
}

}  // namespace learn::cpu
