#include "framework/tensorboard/event_file.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/tensorboard/event_folder.h"
#include "tests/golden/tensorboard_values.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/tensorboard/read_events.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <limits>

using namespace learn;
using namespace learn::tensorboard;
namespace fs = std::filesystem;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Event one(std::int64_t step, float value) {
  return {.step = step, .wall_time = 1, .values = {{"a", value}}};
}

}  // namespace

TEST_CASE("events are byte-identical to TensorBoard's own writer") {
  const TemporaryFolder folder;
  EventFile file(folder / "new" / "events", 12);
  const std::string head = read_text_file(file.path());
  file.write(std::vector<Event>{{12, 1700000000.5, {{"train/loss", 0.75F}, {"train/bad", kNaN}}},
                                {13,
                                 1700000001.25,
                                 {{"w",
                                   Histogram{.min = -2,
                                             .max = 1,
                                             .sum = -0.5,
                                             .sum_squares = 6,
                                             .finite = 3,
                                             .not_finite = 9,
                                             .limits = {-1.5, 0.5, 1.25},
                                             .counts = {1, 0, 2}}}}},
                                {std::int64_t{1} << 40U,
                                 1700000002,
                                 {{"images/a", PngImage{3, 2, std::string("\x89PNG\0", 5)}},
                                  {"config", Markdown{"    seed = 1\n"}}}}});
  const std::string all = read_text_file(file.path());
  CHECK(all.starts_with(head));
  CHECK((all.substr(head.size()) == golden::event_records()));
}

TEST_CASE("a file starts with its version and the step of the training's start") {
  const TemporaryFolder folder;
  const double before = wall_time_now();
  const EventFile file(folder.path(), 41);
  const auto events = test::read_events(file.path());
  REQUIRE(events.size() == 2);
  CHECK(events[0].file_version() == "brain.Event:2");
  CHECK(events[0].source_metadata().writer() == "learn");
  CHECK(events[0].wall_time() >= before);
  CHECK(events[0].wall_time() <= wall_time_now());
  CHECK(events[1].session_log().status() == proto::SessionLog::START);
  CHECK(events[1].step() == 41);
}

TEST_CASE("files are read in the order in which they were made, whatever the clock does") {
  const TemporaryFolder folder;
  const std::string future =
      fmt::format("events.out.tfevents.{}.host.1.0", std::time(nullptr) + 999);
  write_file_atomically(folder / future, "");
  write_file_atomically(folder / "events.out.tfevents.99999999999999.host.1.0",
                        "");  // no clock says so
  write_file_atomically(folder / "events.out.tfevents.rest", "");
  std::array<fs::path, 3> made;
  for (fs::path& path : made) path = EventFile(folder.path(), 1).path();
  CHECK(made[0].filename().string().find(
            fmt::format("events.out.tfevents.{}.", std::time(nullptr) + 1000)) == 0);
  CHECK(made[0].filename().string().ends_with(fmt::format(".{}.3", ::getpid())));
  CHECK(folder / future < made[0]);
  CHECK(made[0] < made[1]);
  CHECK(made[1] < made[2]);
}

TEST_CASE("a repeated step replaces the former one") {
  const TemporaryFolder folder;
  EventFile(folder.path(), 1).write(std::vector{one(1, 1), one(2, 2), one(3, 3), one(4, 4)});
  EventFile(folder.path(), 3).write(std::vector{one(3, 30)});
  const test::Tags shown = test::shown(folder.path());
  CHECK(test::steps(shown, "a") == "1 2 3");
  CHECK(shown.at("a").at(2).simple_value() == 2);
  CHECK(shown.at("a").at(3).simple_value() == 30);
  CHECK(test::steps(test::served(folder.path()), "a") == "1 2 3");
}

TEST_CASE("former events are kept apart") {
  const TemporaryFolder folder;
  CHECK_NOTHROW(set_former_events_aside(folder / "none"));
  for (const char* const former : {"former-1", "former-2"}) {
    const fs::path name = EventFile(folder.path(), 1).path().filename();
    write_file_atomically(folder / "mine.txt", "mine");
    const test::LogFile log;
    set_former_events_aside(folder.path());
    CHECK(log.count("the events of an earlier training are now in") == 1);
    CHECK(test::event_files(folder.path()).empty());
    CHECK(fs::exists(folder / former / name));
  }
  set_former_events_aside(folder.path());
  CHECK_FALSE(fs::exists(folder / "former-3"));
  CHECK(fs::exists(folder / "mine.txt"));
}

TEST_CASE("an impossible path is an error that names it") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "");
  CHECK_THROWS_AS(EventFile(folder / "file", 1), IoError);
  CHECK_THROWS_WITH_AS(
      set_former_events_aside(folder / "file"), doctest::Contains("cannot list"), IoError);
  // Someone else's file of the name that is next.
  const fs::path next = new_event_file(folder.path());
  fs::create_symlink(folder / "elsewhere", next);
  const AppendFile::Open create = AppendFile::Open::create;
  CHECK_THROWS_WITH_AS(AppendFile(next, create), doctest::Contains("cannot create"), IoError);
  CHECK_FALSE(fs::exists(folder / "elsewhere"));
}

TEST_CASE("events that cannot be written whole leave a file that can be read and added to") {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 1);
  file.write(std::vector{one(1, 1)});
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = fs::file_size(file.path()) + 100;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string said;
  try {
    file.write(std::vector{Event{2, 1, {{"text", Markdown{std::string(1000, 'x')}}}}});
  } catch (const IoError& error) {
    said = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(said.starts_with("cannot write '"));
  file.write(std::vector{one(3, 3)});
  CHECK(test::steps(test::shown(folder.path()), "a") == "1 3");
}
