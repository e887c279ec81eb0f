#include "framework/io/atomic_file.h"

#include "framework/core/error.h"
#include "framework/io/append_file.h"
#include "framework/io/free_space.h"
#include "framework/io/output_place.h"
#include "framework/runs/run_dir.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

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
    const std::string expected =
        fmt::format("cannot write '{0}/{1}/a.txt': the folder '{0}/{1}' does not exist",
                    folder.path().string(),
                    name);
    CHECK_THROWS_WITH_AS(check_output(folder / name / "a.txt"), expected.c_str(), IoError);
    CHECK_THROWS_WITH_AS(
        write_file_atomically(folder / name / "a.txt", "text"), expected.c_str(), IoError);
  }
  check_output(folder / "a.txt");
  check_output("a.txt");
}

TEST_CASE("a link stays, and the file that it names is replaced") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "there");
  fs::create_symlink("there/file", folder / "near");
  fs::create_symlink(folder / "near", folder / "far");
  for (const std::string text : {"first", "second"}) {  // the first creates it
    write_file_atomically(folder / "far", text);
    CHECK(fs::is_symlink(folder / "far"));
    CHECK(fs::is_symlink(folder / "near"));
    CHECK(read_text_file(folder / "there" / "file") == text);
  }
  AppendFile(folder / "far", AppendFile::Open::keep).append(", third");
  CHECK(read_text_file(folder / "there" / "file") == "second, third");
  AppendFile(folder / "far", AppendFile::Open::empty).append("fourth");
  CHECK(read_text_file(folder / "there" / "file") == "fourth");
  CHECK(names_in(folder / "there") == std::set<std::string>{"file"});
  CHECK(names_in(folder.path()) == std::set<std::string>{"far", "near", "there"});
}

TEST_CASE("a FIFO is written to and stays, also through a link") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  fs::create_symlink("fifo", folder / "link");
  const int reader = ::open((folder / "fifo").c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  for (const char* const name : {"fifo", "link"}) {
    AtomicFile file(folder / name);
    file.write("for the reader");
    file.commit(folder / "previous");
    char text[32] = {};
    CHECK(::read(reader, text, sizeof text) == 14);
    CHECK(std::string(text) == "for the reader");
    AppendFile(folder / name, AppendFile::Open::empty).append("more");
    CHECK(::read(reader, text, sizeof text) == 4);
  }
  ::close(reader);
  CHECK(fs::is_fifo(folder / "fifo"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"fifo", "link"});
}

TEST_CASE("a device is written to and stays") {
  const TemporaryFolder folder;
  write_file_atomically("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_THROWS_WITH_AS(write_file_atomically("/dev/full", "text"),
                       doctest::Contains("cannot write '/dev/full': No space left on device"),
                       IoError);
  CHECK(fs::is_character_file("/dev/full"));
  if (::mknod((folder / "null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) return;  // not root
  CHECK_NOTHROW(write_file_atomically(folder / "null", "gone"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"null"});
  CHECK(fs::is_character_file(folder / "null"));
  REQUIRE(::mknod((folder / "disk").c_str(), S_IFBLK | 0600, makedev(7, 250)) == 0);
  CHECK_THROWS_WITH_AS(write_file_atomically(folder / "disk", "text"),
                       doctest::Contains("it is a block device; give the name of a file"),
                       IoError);
  CHECK(fs::is_block_file(folder / "disk"));
}

TEST_CASE("a device or FIFO that cannot be opened is an error and stays") {
  const TemporaryFolder folder;
  const fs::path path = folder / "shut";
  // Root may open any FIFO, and may make a device that has no driver (major 60: for local use).
  if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(60, 250)) != 0)
    REQUIRE(::mkfifo(path.c_str(), 0) == 0);
  CHECK_THROWS_WITH_AS(
      write_file_atomically(path, "text"), doctest::Contains("cannot open '"), IoError);
  CHECK(names_in(folder.path()) == std::set<std::string>{"shut"});
}

TEST_CASE("a descriptor of this process is written to, whatever it is") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "one, ");
  const int file = ::open((folder / "file").c_str(), O_WRONLY | O_APPEND);
  REQUIRE(file >= 0);
  write_file_atomically("/dev/fd/" + std::to_string(file), "two, ");
  fs::create_symlink("/proc/self/fd/" + std::to_string(file), folder / "link");
  CHECK(check_output(folder / "link") == "/proc/self/fd/" + std::to_string(file));
  write_file_atomically(folder / "link", "three");
  ::close(file);
  CHECK(read_text_file(folder / "file") == "one, two, three");
  int ends[2] = {};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  write_file_atomically("/dev/fd/" + std::to_string(ends[0]), "text");
  char text[8] = {};
  CHECK(::read(ends[1], text, sizeof text) == 4);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("special files that are not written directly are refused, and stay") {
  const TemporaryFolder folder;
  const std::string base = folder.path().string();
  const auto refused = [&](const std::string& name, const std::string& why) {
    const std::string path = base + name;
    CAPTURE(path);
    const std::string text = "cannot write '" + path + "': " + why;
    CHECK_THROWS_WITH_AS(write_file_atomically(path, "text"), text.c_str(), IoError);
    CHECK_THROWS_WITH_AS(AppendFile(path, AppendFile::Open::empty), text.c_str(), IoError);
    CHECK_THROWS_WITH_AS(check_output(path), text.c_str(), IoError);
  };
  const std::string is_folder = "it is a folder; give the name of a file";
  fs::create_directory(folder / "empty");
  fs::create_symlink("empty", folder / "link");
  for (const char* const name : {"", "/.", "/..", "/empty", "/link"}) refused(name, is_folder);
  for (const char* const name : {"/", "/empty/", "/none/", "/link/"})
    refused(name, "give the name of a file");
  CHECK_THROWS_WITH_AS(
      write_file_atomically("", "text"), "cannot write '': give the name of a file", IoError);
  fs::create_symlink("circle", folder / "circle");
  refused("/circle", std::strerror(ELOOP));

  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket_path = base + "/socket";
  REQUIRE(socket_path.size() < sizeof address.sun_path);
  socket_path.copy(address.sun_path, socket_path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  refused("/socket", "it is a socket; give the name of a file");
  ::close(socket);

  CHECK_THROWS_WITH_AS(write_file_atomically("/proc/self/fd/12345", "text"),
                       doctest::Contains("No such file"),
                       IoError);
  CHECK(names_in(folder.path()) == std::set<std::string>{"circle", "empty", "link", "socket"});
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

TEST_CASE("a save that a signal interrupts continues") {
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
       ": disk full: need 4 bytes, have 3.1 MiB, so a quota or the number of files is exhausted");
  ends(text_of(Call::write, EDQUOT, size), ": need 44.7 MiB");
  ends(text_of(Call::write, EIO, size), std::strerror(EIO));
}

TEST_CASE("a limit of file sizes is reported with its value") {
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

TEST_CASE("without hard links files are saved, and the log names once what is not kept") {
  for (const int error : {EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV}) {
    CAPTURE(error);
    const TemporaryFolder folder;
    const test::LogFile log;
    FailingFs files(Call::link, error, 0);
    for (const std::string text : {"first", "second", "third"}) save(files, folder.path(), text);
    CHECK(read_text_file(folder / "last") == "third");
    CHECK(names_in(folder.path()) == std::set<std::string>{"last"});
    CHECK(log.count("does not support hard links") == 1);
    CHECK(log.count("'last.prev'") == 1);
  }
}

TEST_CASE("names of temporary files are distinguished from others") {
  CHECK(AtomicFile::is_temporary("last.safetensors.tmp.123"));
  CHECK(AtomicFile::is_temporary(temporary_beside("run.json").string()));
  for (const std::string name :
       {"last.safetensors", "notes.tmp.txt", ".tmp.1", "x.tmp", "x.tmp.", "x.tmp.1a"})
    CHECK_FALSE(AtomicFile::is_temporary(name));
}

TEST_CASE("a run that would fill the disk gives a warning") {
  const TemporaryFolder folder;
  FailingFs files(Call::create, 0);  // 3.1 MiB are free
  const test::LogFile log;
  warn_if_space_is_short(folder.path(), 14 * kMebibyte / 10, files);
  CHECK(log.text().empty());
  warn_if_space_is_short(folder.path(), 15 * kMebibyte / 10, files);
  CHECK(log.count("has 3.1 MiB free; checkpoints of 1.5 MiB need 3.3 MiB") == 1);
  CHECK(disk().free_space(folder.path()).value() > 0);
  CHECK(bytes_text(900) == "900 bytes");
}
