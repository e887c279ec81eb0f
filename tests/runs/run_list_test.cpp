#include "framework/runs/run_list.h"

#include "framework/core/error.h"
#include "framework/io/csv.h"
#include "framework/runs/folder_lock.h"
#include "framework/runs/remove_run.h"
#include "framework/runs/run_dir.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

using namespace learn;
namespace fs = std::filesystem;

namespace {

fs::path make_run(const fs::path& root, const std::string& name, const std::string& status) {
  const RunDir dir = RunDir::create(root, name);
  RunRecord record;
  record.status = status;
  dir.write(record);
  return dir.path();
}

std::vector<std::string> names_of(const RunList& list) {
  std::vector<std::string> names;
  for (const RunEntry& run : list.runs) names.push_back(run.name);
  return names;
}

}  // namespace

TEST_CASE("the runs of a folder are listed by name, and nothing else") {
  const TemporaryFolder folder;
  const fs::path root = folder / "runs";
  for (int i = 0; i < 10; ++i) make_run(root, "train", "finished");
  make_run(folder / "elsewhere", "far", "finished");
  fs::create_directory(root / "mine");
  std::ofstream(root / "run.json") << "{}";
  make_run(root, "hidden", "finished");
  fs::rename(root / "hidden", root / ".hidden");
  fs::create_directory_symlink("train-3", root / "second name");
  fs::create_directory_symlink("nowhere", root / "dangling");
  fs::create_directory_symlink("../elsewhere/far", root / "link");
  fs::create_directory(root / ".removed-train-1-1");
  const RunList list = list_runs(root);
  CHECK(names_of(list) == std::vector<std::string>{"link",
                                                   "train",
                                                   "train-2",
                                                   "train-3",
                                                   "train-4",
                                                   "train-5",
                                                   "train-6",
                                                   "train-7",
                                                   "train-8",
                                                   "train-9",
                                                   "train-10"});
  CHECK(list.leftovers == std::vector<fs::path>{root / ".removed-train-1-1"});
  CHECK_THROWS_AS((void)list_runs(folder / "none"), IoError);
  CHECK_THROWS_AS((void)list_runs(root / "run.json"), IoError);
}

TEST_CASE("the status of a run is its current one") {
  const TemporaryFolder folder;
  for (const char* const status : {"finished", "interrupted", "crashed", "diverged"})
    CHECK(look_at_run(make_run(folder.path(), status, status)).status == status);
  const fs::path killed = make_run(folder.path(), "killed", "running");
  CHECK(look_at_run(killed).status == "gone");
  const RunDir at_work = RunDir::create(folder.path(), "at-work");
  at_work.write({});
  CHECK(look_at_run(at_work.path()).status == "running");
  {
    // One that is resumed has not written that it runs yet.
    const FolderLock lock(folder / "crashed");
    CHECK(look_at_run(folder / "crashed").status == "running");
  }
  std::ofstream(killed / "run.json") << "{";
  const RunEntry damaged = look_at_run(killed);
  CHECK(damaged.status == "damaged");
  CHECK(damaged.problem.find("this is not JSON") != std::string::npos);
  for (const RunEntry& run : list_runs(folder.path()).runs)
    CHECK(std::ranges::count(run_statuses(), run.status) == 1);
}

TEST_CASE("on a shared file system, a free lock proves nothing") {
  struct Shared final : FileSystem {
    bool sees_all_locks(const fs::path& /*folder*/) override { return false; }
  } shared;
  const TemporaryFolder folder;
  const fs::path killed = make_run(folder.path(), "killed", "running");
  const fs::path finished = make_run(folder.path(), "finished", "finished");
  CHECK(disk().sees_all_locks(folder.path()));
  CHECK(is_held(killed, shared) == Held::unknown);
  CHECK(look_at_run(killed, shared).status == "unknown");
  CHECK(look_at_run(finished, shared).status == "finished");
  {
    const FolderLock lock(killed);
    CHECK(look_at_run(killed, shared).status == "running");
  }
  CHECK(list_runs(folder.path(), shared).runs.back().status == "unknown");
  CHECK_THROWS_WITH_AS(
      remove_run(killed, shared), doctest::Contains("delete the folder yourself"), UsageError);
  CHECK_THROWS_AS(check_can_remove(killed, shared), UsageError);
  CHECK(is_run(killed));
  remove_run(finished, shared);
  std::ofstream(killed / "run.json") << "{";
  remove_run(killed, shared);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a folder that is not a run is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(
      (void)look_at_run(folder / "none"), doctest::Contains("does not exist"), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)look_at_run(folder.path()), doctest::Contains("has no run.json"), UsageError);
}

TEST_CASE("a run takes the time of its epochs, and the disk of all its files") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path(), "train", "finished");
  CHECK_FALSE(look_at_run(run).seconds.has_value());
  {
    CsvWriter csv(run / "results.csv", {"epoch", "time"});
    csv.row({1.0, 2.5});
    csv.row({2.0, 3.5});
  }
  CHECK(look_at_run(run).seconds == 6);
  std::ofstream(run / "results.csv") << "epoch,time\n1,soon\n";
  CHECK_FALSE(look_at_run(run).seconds.has_value());
  std::ofstream(run / "results.csv") << "epoch,time\n1\n";
  CHECK_FALSE(look_at_run(run).seconds.has_value());

  const std::uint64_t before = disk_usage(run);
  std::ofstream(run / "weights" / "last.safetensors") << std::string(100'000, 'x');
  const std::uint64_t with_weights = disk_usage(run);
  CHECK(with_weights >= before + 100'000);
  CHECK(with_weights < before + 120'000);
  fs::create_hard_link(run / "weights" / "last.safetensors", run / "weights" / "second");
  CHECK(disk_usage(run) == with_weights);
  fs::create_directory_symlink("/usr", run / "link");
  CHECK(disk_usage(run) < with_weights + 20'000);
  CHECK(look_at_run(run).bytes == disk_usage(run));
}

TEST_CASE("a folder's lock is visible to others, and looking at it does not disturb them") {
  const TemporaryFolder folder;
  CHECK(is_held(folder.path()) == Held::no);
  CHECK(is_held(folder / "none") == Held::unknown);
  {
    const FolderLock lock(folder.path());
    CHECK(is_held(folder.path()) == Held::yes);
    CHECK_THROWS_AS(FolderLock(folder.path()), UsageError);
  }
  // Like `is_held`, but held for longer.
  const int looks = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::flock(looks, LOCK_SH | LOCK_NB) == 0);
  const std::jthread ends([looks] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::close(looks);
  });
  CHECK_NOTHROW(FolderLock(folder.path()));
}

TEST_CASE("a folder has one name however it is reached, and runs are sorted by number") {
  CHECK(folder_name("runs/train-3/") == "train-3");
  CHECK(folder_name("./a/../b") == "b");
  CHECK(folder_name(".") == fs::current_path().filename());
  CHECK(folder_name("..") == fs::current_path().parent_path().filename());
  CHECK(comes_before("train-2", "train-10"));
  CHECK_FALSE(comes_before("train-10", "train-2"));
  CHECK(comes_before("train", "train-2"));
  CHECK(comes_before("a9b", "a10"));
  CHECK(comes_before("a01", "a1"));
  CHECK_FALSE(comes_before("a1", "a01"));
  CHECK_FALSE(comes_before("a1", "a1"));
  CHECK(comes_before("a0", "a000b"));
  CHECK(comes_before("a99999999999999999999998", "a99999999999999999999999"));
}
