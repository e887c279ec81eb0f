#pragma once
#include "apps/learn/report/run_report.h"

#include <span>

namespace learn::cli {

/// The page of a run, or of several side by side: what was reached, losses and metrics, what the
/// steps were made with, what the model does, images, layers, settings, machine.
[[nodiscard]] html::Page report_page(std::span<const RunReport> runs);

}  // namespace learn::cli
