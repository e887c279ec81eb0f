#pragma once
#include "apps/learn/report/run_report.h"

#include <string>
#include <vector>

namespace learn::cli {

struct ReportOptions {
  std::vector<std::string> runs;  ///< their folders, or "last"
  std::string out;                ///< empty: report.html in the folder of a run, or here of several
  RunReportOptions run;

  /// The options, bound to these fields.
  [[nodiscard]] OptionTable table();
};

/// `learn report RUN...`: writes the page of one run, or of several side by side, and says where.
/// Returns the exit code. Throws Error.
int report(const ReportOptions& options);

}  // namespace learn::cli
