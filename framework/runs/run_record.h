#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// Record of a run; `run.json` holds it.
struct RunRecord {
  std::string status = "running";  ///< running, finished, interrupted, crashed, diverged
  int exit_code = 0;
  std::vector<std::string> argv;                ///< of the call that started it
  std::map<std::string, std::string> versions;  ///< learn, compiler, libraries
  std::map<std::string, std::string> machine;   ///< processor, memory, system, ...
  std::uint64_t seed = 0;
  std::string device;
  int threads = 0;
  std::string model;
  std::int64_t parameters = 0;
  std::string precision;
  double peak_lr = 0;  ///< the highest learning rate of a step so far; 0: unknown
  std::string dataset;
  bool synthetic = false;   ///< made by a program: its accuracy says nothing about real images
  std::string fingerprint;  ///< distinguishes data sets of one name
  std::int64_t train_samples = 0;
  std::int64_t valid_samples = 0;
  std::string started;  ///< UTC, ISO 8601
  /// A call that resumed the run.
  struct Resume {
    std::string at;  ///< UTC, ISO 8601
    std::vector<std::string> argv;
    std::string precision;  ///< from then on; empty: unknown
  };
  std::vector<Resume> resumes;
  std::string ended;  ///< empty while it runs
  std::int64_t epochs = 0;
  std::int64_t epochs_done = 0;
  struct Best {
    std::string metric;
    double value = 0;
    std::int64_t epoch = 0;  ///< from 1
  };
  std::optional<Best> best;
  std::map<std::string, double> results;  ///< of the last epoch
  /// Counts of applied and skipped steps.
  struct Steps {
    std::int64_t applied = 0;
    std::int64_t skipped = 0;  ///< as a gradient was not finite
    double loss_scale = 1;     ///< now
    /// A skip or a growth of the loss scale.
    struct Record {
      std::int64_t batch = 0;  ///< training batch, from 1
      std::string event;
      double scale_before = 1;
      double scale_after = 1;
    };
    std::vector<Record> records;  ///< the newest of them
  };
  Steps steps;
  std::string error;  ///< why it ended, if it did not finish
};

/// The text of `run.json` for this record.
[[nodiscard]] std::string run_record_text(const RunRecord& record);

/// Reads `run.json` in the folder of a run back, all of it; a number that is null there is NaN.
/// Values missing in older versions keep their defaults; additional values of newer versions are
/// ignored. Throws IoError if the file cannot be read, DataError with the reason and the position
/// if it is not a record: damaged, a value of another type or out of range, a name that stands
/// twice, endless.
[[nodiscard]] RunRecord read_run_record(const std::filesystem::path& run);
/// Parses the text of a record; `file` is for errors.
[[nodiscard]] RunRecord parse_run_record(std::string_view text, const std::string& file);

/// Returns the record of a run to resume. It is informative only: if it cannot be read, returns an
/// empty one with an empty status, with a warning unless the file does not exist.
[[nodiscard]] RunRecord read_past(const std::filesystem::path& run);

}  // namespace learn
