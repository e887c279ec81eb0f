#pragma once
#include "framework/learner/callback.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::callbacks {

/// Plots the recorder's values when training ends: results.png (losses and metrics) and
/// lr_schedule.png (learning rate, momentum and, if it moved, the loss scale). Needs a Recorder.
class PlotResults final : public Callback {
 public:
  /// `title` is printed above each image and should name the model and the data.
  PlotResults(std::filesystem::path folder, std::string title)
      : folder_(std::move(folder)), title_(std::move(title)) {}

  [[nodiscard]] std::string_view name() const override { return "plot_results"; }
  [[nodiscard]] int order() const override { return order::kTracker + 20; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void train_begin(Learner& learn) override;
  void train_end(Learner& learn) override;

 private:
  std::filesystem::path folder_;
  std::string title_;
};

}  // namespace learn::callbacks
