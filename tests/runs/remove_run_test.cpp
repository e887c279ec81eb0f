#include "framework/runs/remove_run.h"

#include "framework/core/error.h"
#include "framework/runs/folder_lock.h"
#include "framework/runs/latest_run.h"
#include "framework/runs/run_dir.h"
#include "framework/runs/run_list.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>

using namespace learn;
namespace fs = std::filesystem;

namespace {

fs::path make_run(const fs::path& root, const std::string& name, const std::string& started) {
  const RunDir dir = RunDir::create(root, name);
  RunRecord record;
  record.status = "finished";
  record.started = started;
  dir.write(record);
  std::ofstream(dir.weights("last")) << "weights";
  return dir.path();
}

std::size_t entries_of(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("a run is removed whole, and nothing next to it") {
  const TemporaryFolder folder;
  const fs::path precious = folder / "precious";
  fs::create_directory(precious);
  std::ofstream(precious / "file") << "x";
  const fs::path run = make_run(folder / "runs", "train", "2026-01-01T00:00:00Z");
  const fs::path other = make_run(folder / "runs", "other", "2026-01-02T00:00:00Z");
  fs::create_directory_symlink(precious, run / "folder");
  fs::create_symlink(precious / "file", run / "weights" / "file");
  fs::create_directories(run / "former-1" / "weights");
  check_can_remove(run);
  remove_run(run / "");
  CHECK_FALSE(fs::exists(run));
  CHECK(fs::exists(precious / "file"));
  CHECK(is_run(other));
  CHECK(fs::exists(other / "weights" / "last.safetensors"));
  CHECK(entries_of(folder / "runs") == 2);  // and latest
}

TEST_CASE("latest becomes the run that started last, or vanishes with the only one") {
  const TemporaryFolder folder;
  const fs::path newer = make_run(folder.path(), "newer", "2026-01-02T00:00:00Z");
  const fs::path older = make_run(folder.path(), "older", "2026-01-01T00:00:00Z");
  const fs::path last = make_run(folder.path(), "last-one", "2026-01-03T00:00:00Z");
  CHECK(latest_run(folder.path()) == "last-one");
  remove_run(last);
  CHECK(latest_run(folder.path()) == "newer");
  remove_run(older);
  CHECK(latest_run(folder.path()) == "newer");
  remove_run(newer);
  CHECK(latest_run(folder.path()).empty());
  CHECK(entries_of(folder.path()) == 0);
}

TEST_CASE("a dangling latest after an interrupted removal is repaired by the next one") {
  const TemporaryFolder folder;
  make_run(folder.path(), "newer", "2026-01-02T00:00:00Z");
  const fs::path older = make_run(folder.path(), "older", "2026-01-01T00:00:00Z");
  const fs::path last = make_run(folder.path(), "last-one", "2026-01-03T00:00:00Z");
  const fs::path left = folder / ".removed-last-one-1-1";
  fs::rename(last, left);
  REQUIRE(latest_run(folder.path()) == "last-one");
  remove_run(left);
  CHECK(latest_run(folder.path()) == "newer");
  remove_run(older);
  CHECK(latest_run(folder.path()) == "newer");
}

TEST_CASE("a run inside another one, and one in the present folder, are removed as any other") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path(), "train", "2026-01-01T00:00:00Z");
  const fs::path former = make_run(run, "former-1", "2026-01-01T00:00:00Z");
  fs::remove(run / "latest");
  remove_run(former);
  CHECK_FALSE(fs::exists(former));
  CHECK(is_run(run));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  CHECK_NOTHROW(remove_run("train"));
  make_run(folder.path(), "again", "2026-01-01T00:00:00Z");
  fs::current_path("again");
  CHECK_NOTHROW(remove_run("."));
  fs::current_path(before);
  CHECK(entries_of(folder.path()) == 0);
}

TEST_CASE("folders that must not be removed stay") {
  const TemporaryFolder folder;
  const auto refused = [&](const fs::path& path, const char* why) {
    CAPTURE(path);
    CHECK_THROWS_WITH_AS(check_can_remove(path), doctest::Contains(why), UsageError);
    CHECK_THROWS_AS(remove_run(path), UsageError);
  };
  const fs::path run = make_run(folder.path(), "train", "2026-01-01T00:00:00Z");
  fs::create_directory(folder / "mine");
  std::ofstream(folder / "file") << "x";
  refused(folder / "none", "does not exist");
  refused(folder / "file", "does not exist");
  refused(folder / "mine", "has no run.json");
  refused(folder.path(), "has no run.json");
  refused(folder / "latest", "is a link to 'train'");
  refused(folder / "latest" / "", "is a link to 'train'");
  {
    const FolderLock lock(run);
    refused(run, "a process is working in");
  }
  const fs::path former = make_run(run, "former-1", "2026-01-01T00:00:00Z");
  {
    const FolderLock lock(former);
    refused(run, "former-1'; stop it first");
  }
  CHECK(is_run(run));
  CHECK(fs::exists(run / "weights" / "last.safetensors"));
  CHECK(entries_of(folder.path()) == 4);
}

TEST_CASE("a damaged run and the rest of an interrupted removal can be removed") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path(), "train", "2026-01-01T00:00:00Z");
  std::ofstream(run / "run.json") << "{";
  remove_run(run);
  CHECK_FALSE(fs::exists(run));
  const fs::path left = folder / ".removed-train-17-1";
  fs::create_directories(left / "weights");
  CHECK(is_removal_leftover(left.filename().string()));
  CHECK(list_runs(folder.path()).leftovers.size() == 1);
  remove_run(left);
  CHECK(list_runs(folder.path()).leftovers.empty());
  CHECK(entries_of(folder.path()) == 0);
}

TEST_CASE("an interrupted removal leaves nothing that looks like a run") {
  class CutShort : public FileSystem {
   public:
    int rename(const fs::path& from, const fs::path& to) override {
      (void)FileSystem::rename(from, to);
      throw std::runtime_error("the power fails");
    }
  };
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path(), "train", "2026-01-01T00:00:00Z");
  const std::string long_name(250, 'x');
  fs::rename(run, folder / long_name);
  // A leftover of this process: another name is used.
  const std::string first = fmt::format(".removed-{}-{}-1", long_name.substr(0, 200), ::getpid());
  fs::create_directories(folder / first);
  CutShort cut_short;
  CHECK_THROWS_AS(remove_run(folder / long_name, cut_short), std::runtime_error);
  const RunList left = list_runs(folder.path());
  CHECK(left.runs.empty());
  REQUIRE(left.leftovers.size() == 2);
  CHECK(fs::exists(left.leftovers[1] / "weights" / "last.safetensors"));
  for (const fs::path& path : left.leftovers) remove_run(path);
  CHECK(list_runs(folder.path()).leftovers.empty());
}

TEST_CASE("a run that cannot be renamed stays as it is") {
  class NoRename : public FileSystem {
   public:
    int rename(const fs::path&, const fs::path&) override {
      errno = EACCES;
      return -1;
    }
  };
  class NoSync : public FileSystem {
   public:
    int sync_folder(const fs::path&) override {
      errno = EIO;
      return -1;
    }
  };
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path(), "train", "2026-01-01T00:00:00Z");
  NoRename no_rename;
  CHECK_THROWS_WITH_AS(remove_run(run, no_rename), doctest::Contains("it is unchanged"), IoError);
  CHECK(fs::exists(run / "weights" / "last.safetensors"));
  CHECK(latest_run(folder.path()) == "train");
  NoSync no_sync;
  const test::LogFile log;
  remove_run(run, no_sync);
  CHECK(log.count("cannot sync") == 1);
  CHECK(entries_of(folder.path()) == 0);
}
