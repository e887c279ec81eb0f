#include "framework/io/run_dir.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <system_error>

namespace learn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kMaxRuns = 100000;

void check_name(const std::string& name) {
  bool plain = !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
               name != "latest";
  for (const char c : name)
    plain = plain && c != '/' && static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
  if (!plain)
    fail<UsageError>(
        "'{}' is no name for a run: a plain file name of at most 100 bytes that does not "
        "begin with '.' or '-' and is not 'latest'",
        name);
}

/// True if the folder was made, false if something of that name exists.
bool make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) fail<IoError>("cannot make '{}': {}", path.string(), std::strerror(errno));
  return false;
}

/// Removes what a killed process left of files it was writing.
void sweep_temporaries(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().find(".tmp.") != std::string::npos)
      fs::remove(entry.path(), ignored);
}

/// A new link is renamed over the old one, so that `latest` never vanishes.
void point_latest(const fs::path& root, const fs::path& run) {
  const fs::path staging = root / fmt::format(".latest.tmp.{}", run.filename().string());
  std::error_code error;
  fs::remove(staging, error);
  fs::create_symlink(run.filename(), staging, error);
  if (!error) fs::rename(staging, root / "latest", error);
  if (error) fail<IoError>("cannot update '{}': {}", (root / "latest").string(), error.message());
}

/// JSON has no infinity and no NaN: null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const RunRecord& record) {
  Json best = nullptr;
  if (record.best)
    best = {{"metric", record.best->metric},
            {"value", number(record.best->value)},
            {"epoch", record.best->epoch}};
  Json resumes = Json::array();
  for (const auto& [at, argv] : record.resumes) resumes.push_back({{"at", at}, {"argv", argv}});
  Json results = Json::object();
  for (const auto& [name, value] : record.results) results[name] = number(value);
  return {{"status", record.status},
          {"exit_code", record.exit_code},
          {"error", record.error},
          {"argv", record.argv},
          {"versions", record.versions},
          {"seed", record.seed},
          {"device", record.device},
          {"threads", record.threads},
          {"precision", record.precision},
          {"model", {{"name", record.model}, {"parameters", record.parameters}}},
          {"dataset",
           {{"name", record.dataset},
            {"synthetic", record.synthetic},
            {"fingerprint", record.fingerprint},
            {"train_samples", record.train_samples},
            {"valid_samples", record.valid_samples}}},
          {"started", record.started},
          {"resumes", resumes},
          {"ended", record.ended},
          {"epochs", record.epochs},
          {"epochs_done", record.epochs_done},
          {"best", best},
          {"results", results}};
}

}  // namespace

class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    // A file system that knows no locks has none to be broken.
    if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(fd_);
    fail<UsageError>("another process is training in '{}'", folder.string());
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

RunDir::RunDir(fs::path path)
    : path_(std::move(path)), lock_(std::make_shared<const FolderLock>(path_)) {
  make_folder(path_ / "weights");
  sweep_temporaries(path_);
  sweep_temporaries(path_ / "weights");
}

RunDir RunDir::open(const fs::path& path) {
  if (!fs::is_directory(path)) fail<IoError>("there is no folder '{}'", path.string());
  RunDir run(path);
  const fs::path real = fs::canonical(path);
  if (fs::is_symlink(real.parent_path() / "latest")) point_latest(real.parent_path(), real);
  return run;
}

RunRecord read_past(const fs::path& run) {
  constexpr std::size_t kLimit = 16U << 20U;
  RunRecord past;
  past.status.clear();
  const fs::path file = run / "run.json";
  if (!fs::exists(file)) return past;
  try {
    const auto json = Json::parse(read_text_file(file, kLimit));
    past.status = json.at("status").get<std::string>();
    past.argv = json.at("argv").get<std::vector<std::string>>();
    past.started = json.at("started").get<std::string>();
    for (const auto& resume : json.value("resumes", Json::array()))
      past.resumes.push_back(
          {resume.at("at").get<std::string>(), resume.at("argv").get<std::vector<std::string>>()});
  } catch (const Json::exception&) {
    return {.status = ""};
  } catch (const IoError& e) {
    // The record only informs; the state of the run is elsewhere.
    log::warn("[run] {}", e.what());
    return {.status = ""};
  }
  return past;
}

RunDir RunDir::create(const fs::path& root, const std::string& name, bool exist_ok) {
  check_name(name);
  std::error_code error;
  fs::create_directories(root, error);
  if (error) fail<IoError>("cannot make '{}': {}", root.string(), error.message());
  fs::path path = root / name;
  for (int i = 2; !make_folder(path) && !(exist_ok && fs::is_directory(path)); ++i) {
    if (i > kMaxRuns) fail<IoError>("'{}' holds too many runs named '{}'", root.string(), name);
    path = root / fmt::format("{}-{}", name, i);
  }
  RunDir run(path);
  point_latest(root, path);
  return run;
}

void RunDir::write(const RunRecord& record) const {
  // Arguments may be anything the shell passed; what is not UTF-8 is replaced, not an error.
  const std::string text = to_json(record).dump(2, ' ', false, Json::error_handler_t::replace);
  write_file_atomically(path_ / "run.json", text + '\n');
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace learn
