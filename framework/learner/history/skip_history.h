#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/step/loss_scale_options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// Why a step was not made, or why the loss scale moved.
enum class StepEvent : std::uint8_t {
  growth,        ///< the scale grew after clean steps
  warm_up,       ///< skipped, and no step was clean since the scale was set: it seeks its place
  growth_probe,  ///< skipped for the first time since the scale grew: it goes back to the one
                 ///< before, with a hysteresis after some more skips in a row
  overflow,  ///< skipped at a scale that had been good, or that does not explain it: static, or no
             ///< scale
  bad_loss,  ///< skipped, and the loss itself was not finite: no scale can help
};
/// "growth probe".
[[nodiscard]] std::string_view name_of(StepEvent event) noexcept;

/// A skipped step, or a growth of the loss scale.
struct StepRecord {
  std::int64_t batch = 0;  ///< training batches seen, this one included
  StepEvent event = StepEvent::growth;
  float scale_before = 1;  ///< with which the batch was computed
  float scale_after = 1;
};

/// Numbers of steps and skips. The difference of two is for the steps between them.
struct StepCounts {
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::int64_t warm_up = 0;  ///< of `skipped`, and so are the next three
  std::int64_t growth_probes = 0;
  std::int64_t overflows = 0;
  std::int64_t bad_losses = 0;
  std::int64_t in_a_row = 0;  ///< skips after one that the scale fell at or could not, and none
                              ///< of the warm-up
  [[nodiscard]] StepCounts since(const StepCounts& before) const noexcept;
  bool operator==(const StepCounts&) const = default;
};

/// Whether the skips are normal for a healthy training, and the line that reports it.
struct StepVerdict {
  bool normal = true;
  std::string text;  ///< empty if no step was skipped
};

/// Records the steps of a training from its control blocks, one after each batch. It gets the rules
/// of the loss scale as options and reads its changes. The content is a function of its inputs.
class SkipHistory {
 public:
  /// More records than a person reads; of more the newest are kept.
  static constexpr std::size_t kCapacity = 512;

  /// Starts a fit: `control` is the block before its first batch.
  void begin(const StepControl& control, const LossScaleOptions& scaling);
  /// The block after a batch. Returns the record of what happened, if anything did.
  std::optional<StepRecord> add(std::int64_t batch, const StepControl& after, bool loss_is_finite);

  [[nodiscard]] const std::vector<StepRecord>& records() const noexcept { return records_; }
  [[nodiscard]] const StepCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] float loss_scale() const noexcept { return last_.loss_scale; }
  /// Judges the steps that `counts` counts, which started with this scale. Normal are skips while
  /// the scale settles, skips after it has grown, and up to one other step in a hundred if the next
  /// step is made. Not normal are an infinite loss, no step at all, and a scale at its floor.
  [[nodiscard]] StepVerdict verdict(const StepCounts& counts, float scale_at_begin) const;

  /// Throws CheckpointError for what this cannot hold.
  void visit_state(StateVisitor& visitor);

 private:
  [[nodiscard]] StepEvent kind_of_skip(bool loss_is_finite) const noexcept;
  void keep(const StepRecord& record);

  StepControl last_;
  LossScaleOptions scaling_{.dynamic = false};
  bool settled_ = false;         // a step was clean since the scale was set
  bool grew_ = false;            // the last time it moved it grew
  bool skipped_before_ = false;  // the last step was skipped, after the warm-up
  StepCounts counts_;
  std::vector<StepRecord> records_;
};

}  // namespace learn
