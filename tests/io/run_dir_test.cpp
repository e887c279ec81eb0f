#include "framework/io/run_dir.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

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

TEST_CASE("exist_ok uses the folder again and sweeps what a killed run left half written") {
  const TemporaryFolder folder;
  const fs::path first = RunDir::create(folder.path(), "train").path();
  std::ofstream(first / "weights" / "last.safetensors.tmp.123") << "half";
  std::ofstream(first / "results.csv") << "kept";
  CHECK(RunDir::create(folder.path(), "train", true).path() == first);
  CHECK_FALSE(fs::exists(first / "weights" / "last.safetensors.tmp.123"));
  CHECK(fs::exists(first / "results.csv"));
}

TEST_CASE("a run that is resumed keeps its folder, its link and its beginning") {
  const TemporaryFolder folder;
  const fs::path first = [&] {
    const RunDir dir = RunDir::create(folder.path(), "train");
    CHECK(read_past(dir.path()).started.empty());
    CHECK(read_past(dir.path()).status.empty());
    RunRecord record;
    record.status = "interrupted";
    record.started = "2026-11-20T12:05:17Z";
    record.argv = {"train", "-e", "3"};
    record.resumes = {{"2026-11-21T08:00:00Z", {"train", "--resume", "last"}}};
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
  {
    std::vector<std::jthread> threads;
    threads.reserve(paths.size());
    for (fs::path& path : paths)
      threads.emplace_back([&] { path = RunDir::create(folder.path(), "train").path(); });
  }
  CHECK(std::set<fs::path>(paths.begin(), paths.end()).size() == 8);
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
