#pragma once
#include "callbacks/report/run_history.h"
#include "framework/drawing/plot.h"

#include <span>
#include <string>

/// Plots of recorded runs. Each run has its colour.
namespace learn::callbacks {

/// Plots losses and metrics. For one run: the loss of each batch and its mean, in one colour, next
/// to the validation loss, and all metrics in one panel. For several runs: the mean losses, with
/// validation dashed, and a panel for each metric.
[[nodiscard]] plot::Figure results_figure(const std::string& title,
                                          std::span<const RunHistory> runs);

/// Plots the learning rate and momentum of each batch; the loss scale, if it moved or a step was
/// skipped; and norms, if a run has any.
[[nodiscard]] plot::Figure schedule_figure(const std::string& title,
                                           std::span<const RunHistory> runs);

}  // namespace learn::callbacks
