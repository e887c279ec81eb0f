#pragma once
#include "framework/learner/callback.h"
#include "framework/nn/image_resizer.h"

#include <cstdint>
#include <optional>

namespace learn::callbacks {

/// The side of the training images grows from `scale` times the full one to the full one: it stays
/// at the smallest in the first part of a fit's batches, is full in the last part, and grows
/// linearly in between, rounded to a multiple.
struct ProgressiveResizingOptions {
  double scale = 0.75;
  double first = 0.2;  ///< share of the batches before the images grow
  double last = 0.2;   ///< share of the batches after they have grown
  std::int64_t multiple = 4;
};

/// Progressive resizing (Howard, "Training Imagenet in 3 hours for 25 minutes", fast.ai 2018;
/// the schedule is Composer's): trains on smaller images at first, which takes less time. Images
/// are resized on the device after they were augmented, and before they are cast to halves. The
/// network must take images of any size, and so have a global pool. Validation and prediction have
/// full ones.
///
/// The size depends on the position in the fit alone, so a resumed run has the same ones, and so do
/// all ranks. A step needs most memory at the end of a fit. A sandbox, with which batch sizes and
/// learning rates are searched, trains on full images.
class ProgressiveResizing final : public Callback {
 public:
  /// Throws UsageError unless scale is in (0, 1], first and last are not negative and at most 1
  /// together, and multiple is at least 1.
  explicit ProgressiveResizing(const ProgressiveResizingOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "progressive_resizing"; }
  [[nodiscard]] int order() const override { return order::kProgressiveResizing; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] bool runs_in_sandbox() const override { return false; }
  [[nodiscard]] std::vector<std::string> claims() const override {
    return {"change the size of training images"};
  }
  /// Throws UsageError for samples that are not images.
  void batch_begin(Learner& learn) override;

  /// The side of images, `full` pixels at the end, of a batch before which this share of the fit's
  /// batches has passed.
  [[nodiscard]] std::int64_t side_at(double share, std::int64_t full) const;

 private:
  ProgressiveResizingOptions options_;
  std::optional<nn::ImageResizer> resizer_;
};

}  // namespace learn::callbacks
