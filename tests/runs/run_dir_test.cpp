#include "framework/runs/run_dir.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <set>
#include <thread>

using namespace learn;
namespace fs = std::filesystem;

TEST_CASE("runs are numbered and latest points to the newest") {
  const TemporaryFolder folder;
  const fs::path root = folder / "runs";
  CHECK(RunDir::create(root, "train").path() == root / "train");
  CHECK(RunDir::create(root, "train").path() == root / "train-2");
  CHECK(RunDir::create(root, "other").path() == root / "other");
  const RunDir third = RunDir::create(root, "train");
  CHECK(third.path() == root / "train-3");
  CHECK(fs::is_directory(third.path() / "weights"));
  CHECK(fs::read_symlink(root / "latest") == "train-3");
  CHECK(third.weights("best") == root / "train-3" / "weights" / "best.safetensors");
}

TEST_CASE("only half-written files of a killed process are removed") {
  const TemporaryFolder folder;
  const fs::path first = RunDir::create(folder.path(), "train").path();
  const pid_t dead = [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
  }();
  const std::string number = ".tmp." + std::to_string(dead);
  const std::vector<fs::path> swept{first / "weights" / ("last.safetensors" + number),
                                    first / "weights" / ("last.prev.safetensors" + number),
                                    first / ("run.json" + number),
                                    folder / (".latest.train" + number)};
  const std::vector<fs::path> kept{first / "results.csv",
                                   first / "notes.tmp.txt",
                                   folder / (".latest.train.tmp." + std::to_string(::getppid()))};
  for (const auto& files : {swept, kept})
    for (const fs::path& file : files) std::ofstream(file) << "half";
  (void)RunDir::open(first);
  for (const fs::path& file : swept) CHECK_FALSE(fs::exists(file));
  for (const fs::path& file : kept) CHECK(fs::exists(file));
}

TEST_CASE("exist_ok keeps the earlier run as a separate run") {
  const TemporaryFolder folder;
  const fs::path path = folder / "train";
  for (const std::string run : {"first", "second"}) {
    const RunDir dir = RunDir::create(folder.path(), "train", true);
    CHECK(dir.path() == path);
    CHECK(fs::is_empty(path / "weights"));
    CHECK_FALSE(fs::exists(path / "results.csv"));
    fs::create_directory(path / "mine");
    std::ofstream(dir.weights("last")) << run;
    std::ofstream(path / "results.csv") << run;
  }
  (void)RunDir::create(folder.path(), "train", true);
  CHECK(read_text_file(path / "former-1" / "weights" / "last.safetensors") == "first");
  CHECK(read_text_file(path / "former-1" / "results.csv") == "first");
  CHECK(read_text_file(path / "former-2" / "weights" / "last.safetensors") == "second");
  CHECK(fs::is_directory(path / "mine"));
  // A run that saved nothing has nothing to keep.
  (void)RunDir::create(folder.path(), "train", true);
  CHECK_FALSE(fs::exists(path / "former-3"));
}

TEST_CASE("a link that cannot be made is a warning") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "latest" / "something");
  const test::LogFile log;
  const RunDir dir = RunDir::create(folder.path(), "train");
  CHECK(log.count("latest' a link to 'train'") == 1);
  CHECK(fs::is_directory(folder / "latest"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("an impossible place for a run is refused before anything is created") {
  const TemporaryFolder folder;
  RunDir::check_can_create(folder / "runs" / "deep", "train");
  CHECK(fs::is_empty(folder.path()));
  CHECK_THROWS_AS(RunDir::check_can_create(folder.path(), "../x"), UsageError);
  // Not even root can make a file there.
  CHECK_THROWS_WITH_AS(RunDir::check_can_create("/proc/self", "train"),
                       doctest::Contains("cannot write into '/proc/self'"),
                       IoError);
  CHECK_THROWS_AS(RunDir::check_can_open("/proc/self"), IoError);
  RunDir::check_can_create(".", "train");
  RunDir::check_can_create("no such folder", "train");
}

TEST_CASE("a run that is resumed keeps its folder, its link and its start time") {
  const TemporaryFolder folder;
  const fs::path first = [&] {
    const RunDir dir = RunDir::create(folder.path(), "train");
    CHECK(read_past(dir.path()).started.empty());
    CHECK(read_past(dir.path()).status.empty());
    RunRecord record;
    record.status = "interrupted";
    record.started = "2026-11-20T12:05:17Z";
    record.argv = {"train", "-e", "3"};
    record.resumes = {{"2026-11-21T08:00:00Z", {"train", "--resume", "last"}, "bf16"}};
    record.error = std::string(3U << 20U, 'x');  // as long as it likes
    dir.write(record);
    CHECK_THROWS_WITH_AS(
        (void)RunDir::open(dir.path()), doctest::Contains("another process"), UsageError);
    CHECK_THROWS_AS((void)RunDir::create(folder.path(), "train", true), UsageError);
    return dir.path();
  }();
  (void)RunDir::create(folder.path(), "other");
  const RunDir again = RunDir::open(first);
  const RunRecord past = read_past(first);
  CHECK(past.status == "interrupted");
  CHECK(past.started == "2026-11-20T12:05:17Z");
  CHECK(past.argv == std::vector<std::string>{"train", "-e", "3"});
  REQUIRE(past.resumes.size() == 1);
  CHECK(past.resumes[0].at == "2026-11-21T08:00:00Z");
  CHECK(past.resumes[0].precision == "bf16");
  CHECK(past.resumes[0].argv == std::vector<std::string>{"train", "--resume", "last"});
  CHECK(fs::read_symlink(folder / "latest") == "train");
  for (const char* const text : {"{ \"started\": 3", "[]", R"({"status": 1, "argv": 2})"}) {
    std::ofstream(first / "run.json") << text;
    CHECK(read_past(first).started.empty());
    CHECK(read_past(first).status.empty());
  }
  CHECK_THROWS_AS((void)RunDir::open(folder / "nowhere"), IoError);
}

TEST_CASE("runs that start at once never share a folder") {
  const TemporaryFolder folder;
  std::vector<fs::path> paths(8);
  const test::LogFile log;
  {
    std::vector<std::jthread> threads;
    threads.reserve(paths.size());
    for (fs::path& path : paths)
      threads.emplace_back([&] { path = RunDir::create(folder.path(), "train").path(); });
  }
  CHECK(std::set<fs::path>(paths.begin(), paths.end()).size() == 8);
  CHECK(fs::is_symlink(folder / "latest"));
  CHECK(log.text().empty());
}

TEST_CASE("names that leave the folder or confuse a shell are refused") {
  const TemporaryFolder folder;
  for (const std::string name :
       {"", ".", "..", "../x", "/abs", "a/b", "-rf", "latest", ".hidden", "new\nline", "bell\a"}) {
    CAPTURE(name);
    CHECK_THROWS_AS((void)RunDir::create(folder.path(), name), UsageError);
  }
  CHECK_THROWS_AS((void)RunDir::create(folder.path(), std::string(300, 'x')), UsageError);
  std::ofstream(folder / "file") << "in the way";
  CHECK_THROWS_AS((void)RunDir::create(folder / "file", "train"), IoError);
}

TEST_CASE("the record is valid JSON whatever it holds, and is replaced as a whole") {
  const TemporaryFolder folder;
  const RunDir dir = RunDir::create(folder.path(), "train");
  RunRecord record;
  record.argv = {"learn", "train", "--name", "not UTF-8 \xFF"};
  record.dataset = "synthetic10";
  record.synthetic = true;
  record.best = RunRecord::Best{"accuracy", 0.875, 3};
  record.results["valid_loss"] = std::numeric_limits<double>::infinity();
  dir.write(record);
  record.status = "finished";
  dir.write(record);
  const auto json = nlohmann::json::parse(read_text_file(dir.path() / "run.json"));
  CHECK(json["status"].get<std::string>() == "finished");
  CHECK(json["dataset"]["synthetic"].get<bool>());
  CHECK(json["best"]["value"].get<double>() == 0.875);
  CHECK(json["results"]["valid_loss"].is_null());
  CHECK(json["argv"].size() == 4);
  CHECK(utc_now().size() == 20);
}
