#include "callbacks/progressive_resizing.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"

#include <algorithm>
#include <cmath>

namespace learn::callbacks {

ProgressiveResizing::ProgressiveResizing(const ProgressiveResizingOptions& options)
    : options_(options) {
  check<UsageError>(options.scale > 0 && options.scale <= 1 && options.multiple >= 1,
                    "progressive_resizing: scale is {}, multiple {}; the first must be in (0, 1], "
                    "the second at least 1",
                    options.scale,
                    options.multiple);
  check<UsageError>(options.first >= 0 && options.last >= 0 && options.first + options.last <= 1,
                    "progressive_resizing: first is {}, last {}; they are shares of the training "
                    "that add up to at most 1",
                    options.first,
                    options.last);
}

std::int64_t ProgressiveResizing::side_at(double share, std::int64_t full) const {
  if (share >= 1 - options_.last) return full;
  const double growing = 1 - options_.first - options_.last;
  const double grown =
      share <= options_.first ? 0 : std::min((share - options_.first) / growing, 1.0);
  const double scale = options_.scale + (1 - options_.scale) * grown;
  const auto multiple = static_cast<double>(options_.multiple);
  const auto side = static_cast<std::int64_t>(
      std::round(static_cast<double>(full) * scale / multiple) * multiple);
  return std::clamp(side, std::min(options_.multiple, full), full);
}

void ProgressiveResizing::batch_begin(Learner& learn) {
  const FitProgress& progress = learn.progress();
  if (!progress.training) return;
  const Tensor& x = learn.batch().x;
  check<UsageError>(x.shape().rank() == 4 && is_floating(x.dtype()),
                    "progressive_resizing: the inputs must be floating images (N,H,W,C), they are "
                    "{} {}: remove this callback",
                    x.shape(),
                    x.dtype());
  const double share = static_cast<double>(progress.batch_clock - progress.fit_first_batch) /
                       static_cast<double>(progress.fit_batches);
  const nn::ImageResizer::Size full{x.shape()[1], x.shape()[2]};
  const nn::ImageResizer::Size size{side_at(share, full.height), side_at(share, full.width)};
  if (size == full) return;
  Context& ctx = learn.context();
  if (!resizer_ || !resizer_->is(full, size, x.dtype()))
    resizer_.emplace(ctx, full, size, x.dtype());
  learn.set_x((*resizer_)(ctx, x));
}

void register_progressive_resizing(CallbackRegistry& registry) {
  registry.add(
      "progressive_resizing",
      "trains on smaller images at first, which takes less time",
      ProgressiveResizingOptions{},
      [](OptionTable& t, ProgressiveResizingOptions& o) {
        t.number("scale",
                 o.scale,
                 kPositiveShare,
                 "S",
                 "side of the first images, as a share of the full one");
        t.number("first",
                 o.first,
                 {.low = 0, .high = 1},
                 "SHARE",
                 "share of the training with the smallest images");
        t.number("last", o.last, {.low = 0, .high = 1}, "SHARE", "share of it with full ones");
        t.number("multiple", o.multiple, kCount, "N", "sides are multiples of it, in pixels");
      },
      [](const ProgressiveResizingOptions& o, const RunSettings&) {
        return make_callback<ProgressiveResizing>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
