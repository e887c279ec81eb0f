#include "framework/io/atomic_file.h"

#include "framework/core/error.h"
#include "framework/io/free_space.h"
#include "framework/io/run_dir.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>

using namespace learn;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMebibyte = 1U << 20U;

/// The disk, on which one call fails.
class FailingFs final : public FileSystem {
 public:
  enum class Call { create, write, sync, close, link, rename, sync_folder };

  /// The `at`-th (from 1) call of this kind fails with `error`; 0: every one.
  FailingFs(Call call, int error, int at = 1) : call_(call), error_(error), at_(at) {}

  int create(const fs::path& path) override {
    return fails(Call::create) ? -1 : FileSystem::create(path);
  }
  ssize_t write(int file, std::span<const std::byte> bytes) override {
    if (fails(Call::write)) return -1;
    return FileSystem::write(file, bytes.first((bytes.size() + 1) / 2));  // as a signal may cut it
  }
  int sync(int file) override { return fails(Call::sync) ? -1 : FileSystem::sync(file); }
  int close(int file) override {
    const int result = FileSystem::close(file);
    return fails(Call::close) ? -1 : result;
  }
  int link(const fs::path& from, const fs::path& to) override {
    return fails(Call::link) ? -1 : FileSystem::link(from, to);
  }
  int rename(const fs::path& from, const fs::path& to) override {
    return fails(Call::rename) ? -1 : FileSystem::rename(from, to);
  }
  int sync_folder(const fs::path& path) override {
    return fails(Call::sync_folder) ? -1 : FileSystem::sync_folder(path);
  }
  std::optional<std::uint64_t> free_space(const fs::path& /*folder*/) override {
    return 3 * kMebibyte + kMebibyte / 10;
  }

 private:
  bool fails(Call call) {
    if (call != call_ || (++count_ != at_ && at_ != 0)) return false;
    errno = error_;
    return true;
  }
  Call call_;
  int error_;
  int at_;
  int count_ = 0;
};
using Call = FailingFs::Call;

void save(FileSystem& files,
          const fs::path& folder,
          std::string_view text,
          std::uint64_t size = 0) {
  AtomicFile file(folder / "last", size, files);
  file.write(text);
  file.commit(folder / "last.prev");
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("a file that has no folder is refused with the folder's name") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "text");
  for (const char* const name : {"none", "file"}) {
    const std::string expected = fmt::format(
        "cannot write '{0}/{1}/a.txt': there is no folder '{0}/{1}'", folder.path().string(), name);
    CHECK_THROWS_WITH_AS(check_folder_of(folder / name / "a.txt"), expected.c_str(), IoError);
    CHECK_THROWS_WITH_AS(
        write_file_atomically(folder / name / "a.txt", "text"), expected.c_str(), IoError);
  }
  check_folder_of(folder / "a.txt");
  check_folder_of("a.txt");
}

TEST_CASE("whichever call of a save fails, the old file is whole and no other is left") {
  struct Failure {
    Call call;
    int at;
  };
  int tried = 0;
  for (const Failure failure : {Failure{Call::create, 1},
                                {Call::write, 1},
                                {Call::write, 2},
                                {Call::write, 3},
                                {Call::sync, 1},
                                {Call::close, 1},
                                {Call::link, 1},
                                {Call::rename, 1},
                                {Call::rename, 2}})
    for (const int error : {ENOSPC, EIO, EROFS, EDQUOT, EFBIG, EACCES}) {
      CAPTURE(static_cast<int>(failure.call));
      CAPTURE(failure.at);
      CAPTURE(error);
      const TemporaryFolder folder;
      write_file_atomically(folder / "last", "old");
      FailingFs files(failure.call, error, failure.at);
      CHECK_THROWS_WITH_AS(save(files, folder.path(), "something new"),
                           doctest::Contains(std::strerror(error)),
                           IoError);
      CHECK(read_text_file(folder / "last") == "old");
      std::set<std::string> names = names_in(folder.path());
      // Where it failed between the two renames, both names have the old content.
      if (names.erase("last.prev") == 1) CHECK(read_text_file(folder / "last.prev") == "old");
      CHECK(names == std::set<std::string>{"last"});
      ++tried;
    }
  CHECK(tried == 54);
}

TEST_CASE("a save that a signal interrupts goes on") {
  const TemporaryFolder folder;
  for (const Call call : {Call::write, Call::sync}) {
    FailingFs files(call, EINTR);
    save(files, folder.path(), "something new");
    CHECK(read_text_file(folder / "last") == "something new");
  }
}

TEST_CASE("a folder that cannot be synced is an error") {
  const TemporaryFolder folder;
  FailingFs files(Call::sync_folder, EIO);
  CHECK_THROWS_WITH_AS(
      save(files, folder.path(), "new"), doctest::Contains("cannot sync the folder"), IoError);
}

TEST_CASE("a full disk is reported with what is needed and what is free") {
  const TemporaryFolder folder;
  const auto text_of = [&](Call call, int error, std::uint64_t size) {
    FailingFs files(call, error);
    try {
      save(files, folder.path(), "text", size);
    } catch (const IoError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const auto ends = [](const std::string& text, std::string_view end) {
    CAPTURE(text);
    CHECK(text.ends_with(end));
  };
  const std::uint64_t size = 447 * kMebibyte / 10;
  for (const Call call : {Call::create, Call::write, Call::sync, Call::close, Call::link})
    ends(text_of(call, ENOSPC, size), ": disk full: need 44.7 MiB, have 3.1 MiB");
  // Its own name is there, so a reader can see which file it was.
  CHECK(text_of(Call::write, ENOSPC, size).find("last") != std::string::npos);
  ends(text_of(Call::write, ENOSPC, 0),
       ": disk full: need 4 bytes, have 3.1 MiB, so it is a quota or the number of files that is "
       "used up");
  ends(text_of(Call::write, EDQUOT, size), ": need 44.7 MiB");
  ends(text_of(Call::write, EIO, size), std::strerror(EIO));
}

TEST_CASE("a limit of file sizes is reported with it") {
  const TemporaryFolder folder;
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = 2 * kMebibyte;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  std::string text = "no error";
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  try {
    save(disk(), folder.path(), std::string(3 * kMebibyte, 'x'));
  } catch (const IoError& e) {
    text = e.what();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CAPTURE(text);
  CHECK(text.ends_with("need 3.0 MiB, the limit of this process (ulimit -f) is 2.0 MiB"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("without hard links files are saved, and the log says once what is not kept") {
  for (const int error : {EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV}) {
    CAPTURE(error);
    const TemporaryFolder folder;
    const test::LogFile log;
    FailingFs files(Call::link, error, 0);
    for (const std::string text : {"first", "second", "third"}) save(files, folder.path(), text);
    CHECK(read_text_file(folder / "last") == "third");
    CHECK(names_in(folder.path()) == std::set<std::string>{"last"});
    CHECK(log.count("no hard links") == 1);
    CHECK(log.count("'last.prev'") == 1);
  }
}

TEST_CASE("names of temporary files are told from others") {
  CHECK(AtomicFile::is_temporary("last.safetensors.tmp.123"));
  CHECK(AtomicFile::is_temporary(temporary_beside("run.json").string()));
  for (const std::string name :
       {"last.safetensors", "notes.tmp.txt", ".tmp.1", "x.tmp", "x.tmp.", "x.tmp.1a"})
    CHECK_FALSE(AtomicFile::is_temporary(name));
}

TEST_CASE("a run is warned that will fill the disk") {
  const TemporaryFolder folder;
  FailingFs files(Call::create, 0);  // 3.1 MiB are free
  const test::LogFile log;
  warn_if_space_is_short(folder.path(), 14 * kMebibyte / 10, files);
  CHECK(log.text().empty());
  warn_if_space_is_short(folder.path(), 15 * kMebibyte / 10, files);
  CHECK(log.count("has 3.1 MiB free; checkpoints of 1.5 MiB want 3.3 MiB") == 1);
  CHECK(disk().free_space(folder.path()).value() > 0);
  CHECK(bytes_text(900) == "900 bytes");
}
