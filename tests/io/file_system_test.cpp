#include "framework/io/file_system.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/io/safetensors.h"
#include "framework/runs/last_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cerrno>

using namespace learn;
namespace fs = std::filesystem;

namespace {

/// The disk, which cannot make names durable or change them.
class StuckFs final : public FileSystem {
 public:
  int rename(const fs::path& /*from*/, const fs::path& /*to*/) override { return refused(); }
  int sync_folder(const fs::path& /*path*/) override { return refused(); }

 private:
  static int refused() {
    errno = EIO;
    return -1;
  }
};

std::string cannot_make(const fs::path& path, const char* why) {
  return fmt::format("cannot make '{}': {}", path.string(), why);
}

}  // namespace

TEST_CASE("a folder that cannot be made, or not durably, is an error that names it") {
  const TemporaryFolder folder;
  StuckFs stuck;
  const char* const kBroken = "Input/output error";
  CHECK_THROWS_WITH_AS(
      (void)make_folder(folder / "a", stuck), cannot_make(folder / "a", kBroken).c_str(), IoError);
  CHECK_THROWS_WITH_AS(
      make_folders(folder / "b", stuck), cannot_make(folder / "b", kBroken).c_str(), IoError);
  CHECK_THROWS_WITH_AS(make_folders(folder.path() / "c" / "d", stuck),
                       cannot_make(folder / "c", kBroken).c_str(),
                       IoError);
  write_file_atomically(folder / "file", "");
  const fs::path below = folder.path() / "file" / "e";
  CHECK_THROWS_WITH_AS(make_folders(below), cannot_make(below, "Not a directory").c_str(), IoError);
  CHECK_THROWS_WITH_AS(
      (void)make_folder(below), cannot_make(below, "Not a directory").c_str(), IoError);
}

TEST_CASE("a last state that cannot be renamed is an error, but a missing one is not") {
  const TemporaryFolder folder;
  StuckFs stuck;
  const fs::path last = folder / "last.safetensors";
  write_file_atomically(last, "damaged");
  CHECK_THROWS_WITH_AS(set_last_state_aside(folder.path(), stuck),
                       fmt::format("cannot rename '{}': Input/output error", last.string()).c_str(),
                       IoError);
  fs::remove(last);
  CHECK_NOTHROW(set_last_state_aside(folder.path()));
}

TEST_CASE("a run without a whole state reports the fault of both files") {
  const TemporaryFolder folder;
  const std::string last = (folder / "last.safetensors").string();
  const std::string previous = (folder / "last.prev.safetensors").string();
  CHECK_THROWS_WITH_AS((void)find_last_state(folder.path()),
                       fmt::format("'{}' is missing", last).c_str(),
                       CheckpointError);
  write_file_atomically(last, "short");
  write_file_atomically(previous, "shorter");
  CHECK_THROWS_WITH_AS((void)find_last_state(folder.path()),
                       fmt::format("'{}' is not a safetensors file: 5 bytes\n  and so is the "
                                   "previous state: '{}' is not a safetensors file: 7 bytes",
                                   last,
                                   previous)
                           .c_str(),
                       CheckpointError);
}

TEST_CASE("a last state replaced by another file is skipped for the one before") {
  const TemporaryFolder folder;
  const std::string last = (folder / "last.safetensors").string();
  std::int64_t step = 3;
  const auto visit = [&](StateVisitor& v) { v.visit("step", step); };
  write_safetensors(last, {}, {{"learn.kind", "weights"}});
  CHECK_THROWS_WITH_AS(
      (void)find_last_state(folder.path()),
      fmt::format("'{}' does not contain the state of a training: it was replaced by another file",
                  last)
          .c_str(),
      CheckpointError);
  save_state(folder / "last.prev.safetensors", visit);
  for (const Metadata& metadata : {Metadata{{"learn.kind", "weights"}}, Metadata{}}) {
    write_safetensors(last, {}, metadata);
    const LastState found = find_last_state(folder.path());
    CHECK(found.file->path() == folder / "last.prev.safetensors");
    CHECK(found.problem.find("does not contain the state of a training") != std::string::npos);
  }
  save_state(last, visit);
  CHECK(find_last_state(folder.path()).problem.empty());
}
