#include "framework/kernels/conv/cpu/conv_grouped.h"

#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/as_float.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/grouped_parts.h"
#include "framework/kernels/conv/cpu/packed_weights.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <vector>

namespace learn::cpu {
namespace {

constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kTaskFloats = 64LL * 1024;  // of one image; fits the second-level cache

/// A forward pass or a gradient of the input.
template <class T>
struct GroupedPass {
  GroupedImages images;
  std::int64_t n;
  std::vector<GroupedPart> parts;
  const T* from;
  T* to;
  const float* weights;  // packed
  const float* bias;
  GradMode mode;
  const ConvEpilogue* epilogue = nullptr;
};

/// Rows of one image's result, and the rows that they read.
struct Band {
  std::int64_t image;
  RowRange to, from;
};

/// The channels of a task, in vectors.
struct Slice {
  std::int64_t first, last;
};

/// The division of the work: bands of rows and, if there are few, slices of channels.
class Cut {
 public:
  template <class T>
  Cut(const GroupedPass<T>& p, std::int64_t lanes) : lanes_(lanes), channels_(p.images.channels) {
    const GroupedImages& i = p.images;
    const std::int64_t wanted = ceil_div(std::max(i.from_image(), i.to_image()), kTaskFloats);
    const std::int64_t bands =
        std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, i.to_h));
    for (std::int64_t band = 0; band < bands; ++band) {
      const RowRange rows{i.to_h * band / bands, i.to_h * (band + 1) / bands};
      bands_.push_back({0, rows, source_rows(p.parts, rows)});
    }
    // All channels of halves are converted together.
    if (std::same_as<T, float>)
      slices_ = std::clamp<std::int64_t>(
          kWantedTasks / std::max<std::int64_t>(1, p.n * bands), 1, whole_blocks());
  }

  [[nodiscard]] std::int64_t tasks(std::int64_t images) const { return images * bands() * slices_; }
  [[nodiscard]] Band band(std::int64_t task) const {
    Band band = bands_[static_cast<std::size_t>(task / slices_ % bands())];
    band.image = task / slices_ / bands();
    return band;
  }
  [[nodiscard]] Slice slice(std::int64_t task) const {
    const std::int64_t i = task % slices_;
    return {whole_blocks() * i / slices_,
            i + 1 < slices_ ? whole_blocks() * (i + 1) / slices_ : ceil_div(channels_, lanes_)};
  }
  /// Returns the most rows of a band: of its source or of its result.
  template <RowRange Band::*rows>
  [[nodiscard]] std::int64_t most_rows() const {
    std::int64_t most = 0;
    for (const Band& band : bands_) most = std::max(most, (band.*rows).count());
    return most;
  }

 private:
  [[nodiscard]] std::int64_t bands() const { return static_cast<std::int64_t>(bands_.size()); }
  /// The last vector writes channels of the one before if it is not full, in the same task.
  [[nodiscard]] std::int64_t whole_blocks() const { return channels_ / lanes_; }

  std::int64_t lanes_, channels_;
  std::vector<Band> bands_;
  std::int64_t slices_ = 1;
};

/// Computes a band of f32 images; `from` and `to` are its first rows.
template <class T>
void run_band(const ConvResources& on,
              const GroupedPass<T>& p,
              const Band& band,
              const Slice& slice,
              const float* from,
              float* to,
              bool accumulate) {
  const std::int64_t from_shift = band.from.begin * p.images.from_row();
  const std::int64_t to_shift = band.to.begin * p.images.to_row();
  for (const GroupedPart& part : p.parts)
    part.visit(p.images,
               band.to,
               [&](simd::GroupedGrid grid, std::int64_t from_offset, std::int64_t to_offset) {
                 grid.first_block = slice.first;
                 grid.last_block = slice.last;
                 grid.streamed = std::same_as<T, float> && is_streamed(p.n, p.images);
                 on.kernels.multiply_groups(
                     grid,
                     from + (grid.tap_count > 0 ? from_offset - from_shift : 0),
                     p.weights,
                     p.bias,
                     to + to_offset - to_shift,
                     accumulate);
               });
}

/// Applies the epilogue to a slice of rows that are contiguous from `to` on.
void apply_epilogue(const ConvEpilogue& epilogue,
                    const GroupedImages& images,
                    std::int64_t rows,
                    std::int64_t first,
                    std::int64_t last,
                    float* to) {
  const std::int64_t pixels = rows * images.to_w;
  epilogue.apply(
      row_pointers(to, pixels, images.channels).data(), pixels, first, first, last - first);
}

template <class T>
void run_grouped(const ConvResources& on, const GroupedPass<T>& p) {
  const GroupedImages& i = p.images;
  const Cut cut(p, on.kernels.lanes);
  const std::int64_t from_floats = cut.most_rows<&Band::from>() * i.from_row();
  const std::int64_t to_floats = cut.most_rows<&Band::to>() * i.to_row();
  constexpr bool kFloat = std::same_as<T, float>;
  TaskBuffers buffers(on.workspace, on.threads, kFloat ? 0 : from_floats + to_floats);
  on.threads.run(cut.tasks(p.n), [&](std::int64_t task) {
    const Band band = cut.band(task);
    const Slice slice = cut.slice(task);
    const T* const from = p.from + band.image * i.from_image() + band.from.begin * i.from_row();
    T* const to = p.to + band.image * i.to_image() + band.to.begin * i.to_row();
    if constexpr (kFloat) {
      run_band(on, p, band, slice, from, to, p.mode == GradMode::accumulate);
      if (p.epilogue != nullptr)
        apply_epilogue(*p.epilogue,
                       i,
                       band.to.count(),
                       slice.first * on.kernels.lanes,
                       std::min(i.channels, slice.last * on.kernels.lanes),
                       to);
    } else {
      const TaskBuffers::Lease lease(buffers);
      float* const sums = lease.data() + from_floats;
      cast(on.threads, from, lease.data(), GradMode::overwrite, band.from.count() * i.from_row());
      run_band(on, p, band, slice, lease.data(), sums, false);
      cast(on.threads, sums, to, p.mode, band.to.count() * i.to_row());
    }
  });
}

/// Packs weights for `multiply_groups`. `at(result, tap, channel)` is the offset of the weight
/// between a result and a channel of its group.
template <class T, class At>
void pack(const ConvResources& on, const ConvGeometry& g, const T* weight, float* to, At&& at) {
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
            *out++ = as_float(weight[at(first + lane, tap, channel)]);
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

template <class T>
void grouped_forward(const ConvResources& on,
                     const ConvGeometry& g,
                     const T* x,
                     const T* weight,
                     const T* bias,
                     T* y,
                     const ConvEpilogue* epilogue) {
  const Conv2dOptions& o = g.options;
  const std::int64_t width = g.group_c();
  const auto make = [&](float* to) {
    pack(on, g, weight, to, [=](std::int64_t k, std::int64_t tap, std::int64_t c) {
      return (k * g.r * g.s + tap) * width + c;
    });
  };
  const PackedWeights packed(
      on, weight, PackedWeights::grouped_form(o.groups), packed_floats(on, g), make);
  const AsFloat<T> bias_as_float(on.threads, on.workspace, bias, g.k);
  const GroupedImages images{g.h, g.w, g.p, g.q, g.r, g.s, g.c, width};
  run_grouped<T>(on,
                 {.images = images,
                  .n = g.n,
                  .parts = grouped_parts(images,
                                         forward_classes(g.p, g.h, g.r, o.stride_h, o.pad_top),
                                         forward_classes(g.q, g.w, g.s, o.stride_w, o.pad_left)),
                  .from = x,
                  .to = y,
                  .weights = packed.data(),
                  .bias = bias_as_float.data(),
                  .mode = GradMode::overwrite,
                  .epilogue = epilogue});
}

template <class T>
void grouped_backward_data(const ConvResources& on,
                           const ConvGeometry& g,
                           const T* dy,
                           const T* weight,
                           T* dx,
                           GradMode mode) {
  const Conv2dOptions& o = g.options;
  const std::int64_t width = g.group_c();
  const FloatWorkspace packed(on.workspace, packed_floats(on, g));
  pack(on, g, weight, packed.data(), [=](std::int64_t c, std::int64_t tap, std::int64_t k) {
    return ((c / width * width + k) * g.r * g.s + tap) * width + c % width;
  });
  const GroupedImages images{g.p, g.q, g.h, g.w, g.r, g.s, g.c, width};
  run_grouped<T>(on,
                 {.images = images,
                  .n = g.n,
                  .parts = grouped_parts(images,
                                         backward_classes(g.h, g.p, g.r, o.stride_h, o.pad_top),
                                         backward_classes(g.w, g.q, g.s, o.stride_w, o.pad_left)),
                  .from = dy,
                  .to = dx,
                  .weights = packed.data(),
                  .bias = nullptr,
                  .mode = mode});
}

#define LEARN_INSTANTIATE(T)                          \
  template void grouped_forward(const ConvResources&, \
                                const ConvGeometry&,  \
                                const T*,             \
                                const T*,             \
                                const T*,             \
                                T*,                   \
                                const ConvEpilogue*); \
  template void grouped_backward_data(                \
      const ConvResources&, const ConvGeometry&, const T*, const T*, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
