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

/// The objects behind a set of options, made through the registries: context, data, loaders, model,
/// learner with the callbacks that change the training. Callbacks that report are the caller's, see
/// reporting.h.
///
///   ExperimentOptions options;
///   options.model.model = "resnet9:width=32";
///   Experiment experiment(options);
///   experiment.fit();
class Experiment {
 public:
  /// `max_batches` limits each pass, for trial runs; 0: no limit. Throws UsageError for names and
  /// values that do not exist or do not fit, pretrained weights that the precision cannot hold
  /// among them, DataError, DeviceError, CheckpointError.
  explicit Experiment(ExperimentOptions options, std::int64_t max_batches = 0);

  [[nodiscard]] Context& context() noexcept { return ctx_; }
  [[nodiscard]] const data::DataPair& data() const { return data_->set(); }
  [[nodiscard]] data::Loaders& loaders() { return *data_; }
  [[nodiscard]] Learner& learner() noexcept { return *learner_; }
  [[nodiscard]] const ExperimentOptions& options() const noexcept { return options_; }

  /// Trains as the options say: epochs, rates, schedule, rollbacks. Those need the Checkpointer of
  /// `add_reporting`: UsageError without it.
  void fit();
  /// What a checkpoint must say of the experiment, so that it can be used without it.
  [[nodiscard]] Metadata metadata(const std::string& config) const;
  /// "small (0.42 M params) · synthetic10 10000/2000 (synthetic) · cpu 2 threads · fp32 · ...".
  [[nodiscard]] std::string headline();

 private:
  ExperimentOptions options_;
  Context ctx_;
  std::optional<data::Loaders> data_;
  std::optional<Learner> learner_;
};

/// The data of an experiment as its training would see them, loaded to look at images: batches are
/// of one. Throws as `Experiment` for data.
[[nodiscard]] std::unique_ptr<data::Loaders> loaders_to_look_at(Context& ctx,
                                                                const ExperimentOptions& options);

/// " · ", or " - " where the terminal shows ASCII only.
[[nodiscard]] std::string separator();

}  // namespace learn
