#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace learn {

/// What is known about a run; `run.json` holds it.
struct RunRecord {
  std::string status = "running";  ///< running, finished, interrupted, crashed, diverged
  int exit_code = 0;
  std::vector<std::string> argv;                ///< of the call that began it
  std::map<std::string, std::string> versions;  ///< learn, compiler, libraries
  std::uint64_t seed = 0;
  std::string device;
  int threads = 0;
  std::string model;
  std::int64_t parameters = 0;
  std::string precision;
  std::string dataset;
  bool synthetic = false;   ///< made by a program: its accuracy says nothing about real images
  std::string fingerprint;  ///< tells data sets of one name apart
  std::int64_t train_samples = 0;
  std::int64_t valid_samples = 0;
  std::string started;  ///< UTC, ISO 8601
  /// A call that resumed the run.
  struct Resume {
    std::string at;  ///< UTC, ISO 8601
    std::vector<std::string> argv;
    std::string precision;  ///< from then on; empty: not known
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
  /// What became of the steps.
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

/// What `run.json` in the folder of a run says of its past: status, argv, started and resumes of
/// a record; nothing of them if the file is missing or no record.
[[nodiscard]] RunRecord read_past(const std::filesystem::path& run);

/// Held as long as a process works in a folder; gone with the process, however that ends.
class FolderLock;

/// The folder of one run: everything it leaves behind. While an object of it lives, no other
/// process can have one of the same folder: UsageError.
class RunDir {
 public:
  /// Makes `root/name`, or `root/name-2`, `root/name-3`, ... if that exists; creating the folder is
  /// the lock, so two processes never share one. With `exist_ok` an existing `root/name` is used
  /// again; if it holds checkpoints, they and the files beside them are moved into `former-1` in
  /// it, `former-2`, ..., which is then a run like any other. Also makes `weights/`, removes what
  /// killed processes left half written, and points `root/latest` here, or warns if that cannot be.
  /// Throws UsageError for a name that is no plain file name, IoError if the folder cannot be made.
  [[nodiscard]] static RunDir create(const std::filesystem::path& root,
                                     const std::string& name,
                                     bool exist_ok = false);

  /// The folder of a run that is there already. Throws IoError if there is none.
  [[nodiscard]] static RunDir open(const std::filesystem::path& path);

  /// Throw at once what `create` and `open` would throw after a long preparation, for a wrong name
  /// and for a place where nothing can be written. Change nothing.
  static void check_can_create(const std::filesystem::path& root,
                               const std::string& name,
                               bool exist_ok = false);
  static void check_can_open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path weights(const std::string& name) const {
    return path_ / "weights" / (name + ".safetensors");
  }
  /// Replaces `run.json` atomically. Throws IoError.
  void write(const RunRecord& record) const;

 private:
  explicit RunDir(std::filesystem::path path);

  std::filesystem::path path_;
  std::shared_ptr<const FolderLock> lock_;
};

/// Now, as "2026-11-20T12:05:17Z".
[[nodiscard]] std::string utc_now();

}  // namespace learn
