// Checkpoints on a disk that loses power at every point of saving them.
#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/runs/last_state.h"
#include "framework/runs/run_dir.h"
#include "tests/io/crash_fs.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

using namespace learn;
using learn::test::CrashFs;
using learn::test::DiskState;
namespace fs = std::filesystem;

namespace {

const fs::path kRuns = "runs";
const fs::path kWeights = "runs/train/weights";
constexpr int kEpochs = 4;

std::string path_of(const std::string& name) {
  return (kWeights / (name + ".safetensors")).string();
}

/// Saves as large as it takes for pages to be torn: 9,000 bytes that all say the epoch.
void save(FileSystem& files, const std::string& name, int epoch, const std::string& previous = {}) {
  static Arena memory("crash tests", cpu_pages());
  Tensor values(memory, {9000}, DType::u8);
  std::fill_n(values.raw(), values.bytes(), static_cast<std::byte>(epoch));
  write_safetensors(path_of(name),
                    std::vector<NamedTensor>{{"values", values}},
                    {{"epoch", std::to_string(epoch)}, {"learn.kind", "train"}},
                    previous.empty() ? "" : path_of(previous),
                    files);
}

/// Calls that had been made when something was promised: from then on, after any crash, the file
/// must be there.
struct Saved {
  std::string name;
  int epoch;
  std::size_t begun;
  std::size_t done;
};

/// Trains as the checkpointer saves: the best, now and then one to keep, and the last.
std::vector<Saved> train(CrashFs& files, int first = 1, int last = kEpochs) {
  std::vector<Saved> all;
  const auto one = [&](const std::string& name, int epoch, const std::string& previous = {}) {
    const std::size_t begun = files.steps();
    save(files, name, epoch, previous);
    all.push_back({name, epoch, begun, files.steps()});
  };
  for (int epoch = first; epoch <= last; ++epoch) {
    if (epoch != 3) one("best", epoch);
    if (epoch % 2 == 0) one("epoch-" + std::to_string(epoch), epoch);
    one("last", epoch, "last.prev");
  }
  return all;
}

DiskState empty_run() {
  CrashFs files({{kRuns.string(), std::nullopt}});
  make_folders(kWeights, files);
  DiskState state;
  files.crash_after(files.steps(), [&](const DiskState& found) { state = found; });
  return state;
}

/// Looks at disks as a resumed run does, with the library's own reader.
class Reader {
 public:
  /// The epoch of a whole checkpoint; nothing if the file is missing or not whole.
  std::optional<int> epoch(const DiskState& disk, const std::string& path) {
    const auto found = disk.find(path);
    if (found == disk.end()) return std::nullopt;
    const auto [known, is_new] = epochs_.try_emplace(*found->second);
    if (is_new) {
      write(folder_ / "file", *found->second);
      try {
        const SafetensorsFile file(folder_ / "file");
        known->second = std::stoi(file.metadata().at("epoch"));
      } catch (const Error&) {
        known->second = std::nullopt;
      }
    }
    return known->second;
  }
  /// The epoch that a run would be resumed from.
  std::optional<int> resumed(const DiskState& disk) {
    std::pair<std::string, std::string> key;
    for (const auto& [name, text] : {std::pair{"last", &key.first}, {"last.prev", &key.second}})
      if (const auto found = disk.find(path_of(name)); found != disk.end()) *text = *found->second;
    const auto [known, is_new] = resumed_.try_emplace(key);
    if (is_new) {
      for (const auto& [name, text] : {std::pair{"last", &key.first}, {"last.prev", &key.second}}) {
        const fs::path path = folder_ / (std::string(name) + ".safetensors");
        fs::remove(path);
        if (!text->empty()) write(path, *text);
      }
      try {
        known->second = std::stoi(find_last_state(folder_.path()).file->metadata().at("epoch"));
      } catch (const Error&) {
        known->second = std::nullopt;
      }
    }
    return known->second;
  }

 private:
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  TemporaryFolder folder_;
  std::map<std::string, std::optional<int>> epochs_;
  std::map<std::pair<std::string, std::string>, std::optional<int>> resumed_;
};

/// Removes temporary files, as a run does that uses the folder again.
void sweep(DiskState& disk) {
  std::erase_if(disk, [](const auto& file) { return AtomicFile::is_temporary(file.first); });
}

struct Found {
  std::size_t states = 0;
  std::set<std::string> problems;
  std::set<DiskState> distinct;
};

/// Everything that is wrong with any disk that a crash may leave.
Found crash_everywhere(const CrashFs& files, const std::vector<Saved>& saves, Reader& reader) {
  Found found;
  for (std::size_t steps = 0; steps <= files.steps(); ++steps) {
    // The least and the most that each file may be.
    std::map<std::string, std::pair<int, int>> allowed;
    for (const Saved& saved : saves) {
      auto& [least, most] = allowed[saved.name];
      if (saved.done <= steps) least = saved.epoch;
      if (saved.begun <= steps) most = saved.epoch;
    }
    const int least = allowed["last"].first;
    const int most = allowed["last"].second;
    // A resumed run may find none, or the last one itself after an interrupted save.
    const bool goes_on = !saves.empty() && saves.front().done == 0;
    auto& previous = allowed["last.prev"];
    previous = {goes_on ? 0 : std::max(0, least - 1), std::max({0, previous.second, most - 1})};
    files.crash_after(steps, [&](const DiskState& disk) {
      ++found.states;
      found.distinct.insert(disk);
      for (const auto& [name, epochs] : allowed) {
        const bool there = disk.contains(path_of(name));
        const std::optional<int> epoch = reader.epoch(disk, path_of(name));
        if (there && !epoch) found.problems.insert(name + " is not whole");
        if (!there && epochs.first > 0) found.problems.insert(name + " is missing");
        if (epoch && (*epoch < epochs.first || *epoch > epochs.second))
          found.problems.insert(name + " is of another epoch");
      }
      if (least > 0 && reader.resumed(disk).value_or(0) < least)
        found.problems.insert("a resumed run does not find the last state");
    });
  }
  return found;
}

std::set<std::string> problems_on(CrashFs& files) {
  Reader reader;
  const std::vector<Saved> saves = train(files);
  return crash_everywhere(files, saves, reader).problems;
}

}  // namespace

TEST_CASE("power loss at any point of saving leaves an old or a new checkpoint, whole") {
  CrashFs files(empty_run());
  const std::vector<Saved> saves = train(files);
  Reader reader;
  const Found found = crash_everywhere(files, saves, reader);
  CHECK(found.problems == std::set<std::string>{});
  CHECK(found.states > 1000);
  MESSAGE(files.steps() << " points, " << found.states << " disks, " << found.distinct.size()
                        << " of them different");
}

TEST_CASE("a second power loss in a resumed run leaves an old or a new checkpoint, whole") {
  CrashFs files(empty_run());
  const std::vector<Saved> saves = train(files, 1, 2);
  Reader reader;
  std::size_t states = 0;
  for (DiskState disk : crash_everywhere(files, saves, reader).distinct) {
    const std::optional<int> epoch = reader.resumed(disk);
    if (!epoch) continue;  // before the first save
    sweep(disk);
    CrashFs again(disk);
    std::vector<Saved> more;
    for (const std::string name : {"best", "epoch-2", "last", "last.prev"})
      if (const auto before = reader.epoch(disk, path_of(name)))
        more.push_back({name, *before, 0, 0});
    const std::vector<Saved> later = train(again, *epoch + 1, *epoch + 1);
    more.insert(more.end(), later.begin(), later.end());
    const Found found = crash_everywhere(again, more, reader);
    CHECK(found.problems == std::set<std::string>{});
    again.crash_after(again.steps(), [](const DiskState& end) {
      DiskState swept = end;
      sweep(swept);
      CHECK(swept.size() == end.size());
    });
    states += found.states;
  }
  CHECK(states > 1000);
}

TEST_CASE("a damaged last state does not replace the one before it") {
  CrashFs first(empty_run());
  train(first, 1, 2);
  DiskState disk;
  first.crash_after(first.steps(), [&](const DiskState& state) { disk = state; });
  std::string& damaged = disk.at(path_of("last")).value();
  damaged[damaged.size() - 7] = '!';
  Reader reader;
  REQUIRE(reader.resumed(disk) == 1);

  CrashFs files(disk);
  set_last_state_aside(kWeights, files);
  const std::size_t begun = files.steps();
  save(files, "last", 2, "last.prev");
  for (std::size_t steps = 0; steps <= files.steps(); ++steps)
    files.crash_after(steps, [&](const DiskState& state) {
      const int resumed = reader.resumed(state).value_or(0);
      CHECK((resumed == 1 || resumed == 2));
      CHECK((steps < begun || state.contains(path_of("last.damaged"))));
    });
  files.crash_after(files.steps(), [&](const DiskState& state) {
    CHECK(reader.resumed(state) == 2);
    CHECK(reader.epoch(state, path_of("last.prev")) == 1);
  });
}

TEST_CASE("folders of a run are there when its first checkpoint is") {
  CrashFs files({{kRuns.string(), std::nullopt}});
  make_folders(kWeights, files);
  make_folders(kWeights, files);  // they are there
  save(files, "last", 1, "last.prev");
  Reader reader;
  files.crash_after(files.steps(),
                    [&](const DiskState& disk) { CHECK(reader.resumed(disk) == 1); });
}

TEST_CASE("the simulated crashes detect each wrong way to save") {
  SUBCASE("the bytes are synced after the rename") {
    struct Late : CrashFs {
      using CrashFs::CrashFs;
      int sync(int file) override {
        late.push_back(file);
        return 0;
      }
      int close(int /*file*/) override { return 0; }
      int sync_folder(const fs::path& path) override {
        for (const int file : std::exchange(late, {})) CrashFs::sync(file);
        return CrashFs::sync_folder(path);
      }
      std::vector<int> late;
    } files(empty_run());
    CHECK(problems_on(files).contains("last is not whole"));
  }
  SUBCASE("the folder is not synced") {
    struct Unsynced : CrashFs {
      using CrashFs::CrashFs;
      int sync_folder(const fs::path& /*path*/) override { return 0; }
    } files(empty_run());
    CHECK(problems_on(files).contains("a resumed run does not find the last state"));
  }
  SUBCASE("the folder of the run is not synced") {
    struct Unsynced : CrashFs {
      using CrashFs::CrashFs;
      int sync_folder(const fs::path& path) override {
        return path == kWeights ? CrashFs::sync_folder(path) : 0;
      }
    } files({{kRuns.string(), std::nullopt}});
    make_folders(kWeights, files);
    CHECK(problems_on(files).contains("last is missing"));
  }
  SUBCASE("the target is removed first") {
    struct Removing : CrashFs {
      using CrashFs::CrashFs;
      int rename(const fs::path& from, const fs::path& to) override {
        CrashFs::unlink(to);
        return CrashFs::rename(from, to);
      }
    } files(empty_run());
    CHECK(problems_on(files).contains("last is missing"));
  }
  SUBCASE("the previous state is a rename of the last one") {
    struct Renaming : CrashFs {
      using CrashFs::CrashFs;
      int link(const fs::path& from, const fs::path& to) override {
        return CrashFs::rename(from, to);
      }
    } files(empty_run());
    CHECK(problems_on(files).contains("last is missing"));
  }
  SUBCASE("the previous state is kept after the new one is in place") {
    struct Exchanged : CrashFs {
      using CrashFs::CrashFs;
      int link(const fs::path& from, const fs::path& to) override {
        target = from;
        staging = to;
        return 0;
      }
      int rename(const fs::path& from, const fs::path& to) override {
        if (from == staging) {
          previous = to;
          return 0;
        }
        const int result = CrashFs::rename(from, to);
        if (to != target) return result;
        CrashFs::link(target, staging);
        return CrashFs::rename(staging, previous);
      }
      fs::path target, staging, previous;
    } files(empty_run());
    CHECK(problems_on(files).contains("last.prev is of another epoch"));
  }
  SUBCASE("nothing is kept of the previous state") {
    struct Forgetful : CrashFs {
      using CrashFs::CrashFs;
      int link(const fs::path& /*from*/, const fs::path& /*to*/) override {
        errno = ENOENT;
        return -1;
      }
    } files(empty_run());
    CHECK(problems_on(files) == std::set<std::string>{"last.prev is missing"});
  }
  SUBCASE("a file is written in place") {
    struct InPlace : CrashFs {
      using CrashFs::CrashFs;
      int rename(const fs::path& /*from*/, const fs::path& /*to*/) override { return 0; }
    } files(empty_run());
    CHECK(problems_on(files).contains("last is missing"));
  }
}
