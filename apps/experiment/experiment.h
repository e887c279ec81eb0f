#pragma once
#include "apps/experiment/options.h"
#include "data/loading/loaders.h"
#include "framework/io/safetensors.h"
#include "framework/learner/learner.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace learn {

/// The objects for a set of options, made through the registries: context, data, loaders, model,
/// and the learner with the callbacks that change the training. The caller adds callbacks that
/// report, see reporting.h.
///
///   ExperimentOptions options;
///   options.model.model = "resnet9:width=32";
///   Experiment experiment(options);
///   experiment.fit();
class Experiment {
 public:
  /// `max_batches` limits each pass, for trial runs; 0: no limit. Throws UsageError for unknown
  /// names and for values that do not exist or do not fit, including pretrained weights that the
  /// precision cannot hold; DataError, DeviceError, CheckpointError.
  explicit Experiment(ExperimentOptions options, std::int64_t max_batches = 0);

  [[nodiscard]] Context& context() noexcept { return ctx_; }
  [[nodiscard]] const data::DataPair& data() const { return data_->set(); }
  [[nodiscard]] data::Loaders& loaders() { return *data_; }
  [[nodiscard]] Learner& learner() noexcept { return *learner_; }
  [[nodiscard]] const ExperimentOptions& options() const noexcept { return options_; }

  /// Trains as the options define: epochs, rates, schedule, rollbacks. Rollbacks need the
  /// Checkpointer of `add_reporting`; throws UsageError without it.
  void fit();
  /// Returns the metadata that make a checkpoint usable without the experiment.
  [[nodiscard]] Metadata metadata(const std::string& config) const;
  /// Returns "small (0.42 M params) · synthetic10 10000/2000 (synthetic) · cpu 2 threads · fp32 ·
  /// ...".
  [[nodiscard]] std::string headline();

 private:
  ExperimentOptions options_;
  Context ctx_;
  std::optional<data::Loaders> data_;
  std::optional<Learner> learner_;
};

/// Loads the data of an experiment as its training would use them, for looking at images; batches
/// hold one image. Throws as `Experiment` does for data.
[[nodiscard]] std::unique_ptr<data::Loaders> loaders_to_look_at(Context& ctx,
                                                                const ExperimentOptions& options);

/// Returns " · ", or " - " if the terminal shows only ASCII.
[[nodiscard]] std::string separator();

}  // namespace learn
