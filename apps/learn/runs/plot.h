#pragma once
#include <string>
#include <vector>

namespace learn::cli {

struct PlotOptions {
  std::vector<std::string> runs;  ///< their folders
  std::string what = "results";   ///< or schedule
  std::string out = "plot.png";
};

/// Draws what the last states of runs recorded, in one figure, and says where. Returns the exit
/// code. Throws Error.
int plot(const PlotOptions& options);

}  // namespace learn::cli
