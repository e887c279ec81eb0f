#include "framework/runs/saved_weights.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/runs/run_dir.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace learn;
namespace fs = std::filesystem;

namespace {

/// A folder of runs in a folder that is the present one while it lives.
class Place {
 public:
  Place() : before_(fs::current_path()) { fs::current_path(folder_.path()); }
  ~Place() { fs::current_path(before_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  static void make_run(const std::string& out, const std::string& name) {
    RunDir::create(out, name).write({});
  }

 private:
  TemporaryFolder folder_;
  fs::path before_;
};

}  // namespace

TEST_CASE("a run is found by its path or by its name, whatever else has that name") {
  const Place place;
  Place::make_run("runs", "two");
  Place::make_run("runs", "three");
  CHECK(run_folder("two", "runs") == "runs/two");
  CHECK(run_folder("runs/two", "runs") == "runs/two");
  CHECK(run_folder("./runs/two", "elsewhere") == "./runs/two");
  CHECK(run_folder("last", "runs") == "runs/three");
  CHECK(run_folder("latest", "runs") == "runs/three");
  CHECK(run_folder("runs/latest", "runs") == "runs/three");
  // Folders of data with the name of a run, and one that is called last.
  fs::create_directories("two/train/cat");
  fs::create_directories("last");
  CHECK(run_folder("two", "runs") == "runs/two");
  CHECK(run_folder("last", "runs") == "runs/three");
  // Files, and what a run has left without its record.
  write_file_atomically("model.safetensors", "x");
  CHECK(run_folder("model.safetensors", "runs") == "model.safetensors");
  fs::create_directories("weights-only/weights");
  fs::create_directories("runs/logs");
  write_file_atomically("runs/logs/metrics.jsonl", "");
  CHECK(run_folder("weights-only", "runs") == "weights-only");
  CHECK(run_folder("logs", "runs") == "runs/logs");
  // In another folder of runs, and in this one.
  Place::make_run("experiments/a", "deep");
  CHECK(run_folder("deep", "experiments/a") == "experiments/a/deep");
  CHECK(run_folder("a/deep", "experiments") == "experiments/a/deep");
  fs::current_path("runs/two");
  CHECK(run_folder(".", "runs") == ".");
  CHECK(run_folder("../three", "runs") == "../three");
}

TEST_CASE("an ambiguous name is refused with both meanings") {
  const Place place;
  Place::make_run("runs", "two");
  Place::make_run(".", "two");
  CHECK_THROWS_WITH_AS(
      (void)run_folder("two", "runs"), "'two' is ambiguous: use ./two or runs/two", UsageError);
  CHECK_THROWS_AS((void)anything_named("two", "runs"), UsageError);
  CHECK(run_folder("./two", "runs") == "./two");
  CHECK(run_folder("two", ".") == "two");  // the same one
  write_file_atomically("three", "x");
  Place::make_run("runs", "three");
  CHECK_THROWS_WITH_AS((void)run_folder("three", "runs"),
                       "'three' is ambiguous: use ./three or runs/three",
                       UsageError);
  Place::make_run("others", "last");
  CHECK(run_folder("last", "others") == "others/last");  // it is the latest one, too
  Place::make_run("others", "later");
  CHECK_THROWS_WITH_AS((void)run_folder("last", "others"),
                       "'last' is ambiguous: use others/latest or others/last",
                       UsageError);
}

TEST_CASE("an unknown run is refused with a suggestion") {
  const Place place;
  Place::make_run("runs", "train-2");
  CHECK_THROWS_WITH_AS((void)run_folder("trian-2", "runs"),
                       "no run 'trian-2' in 'runs', and no such path; did you mean 'train-2'?",
                       CheckpointError);
  fs::create_directories("photos/cat");
  CHECK_THROWS_WITH_AS((void)run_folder("photos", "runs"),
                       "'photos' is not the folder of a run: it has no run.json and no weights; "
                       "and there is no run 'photos' in 'runs'",
                       CheckpointError);
  CHECK_THROWS_WITH_AS((void)run_folder("photos/cat", "runs"),
                       "'photos/cat' is not the folder of a run: it has no run.json and no weights",
                       CheckpointError);
  CHECK_THROWS_WITH_AS(
      (void)run_folder("last", "nowhere"), "'last': 'nowhere' contains no run", CheckpointError);
  CHECK_THROWS_AS((void)run_folder("../x", "runs"), CheckpointError);
  CHECK_THROWS_AS((void)run_folder(".", "runs"), CheckpointError);
  // Existing folders can be named for removal.
  fs::create_directories("runs/left");
  CHECK(anything_named("left", "runs") == "runs/left");
  CHECK(anything_named("photos", "runs") == "photos");
  CHECK(anything_named("train-2", "runs") == "runs/train-2");
  fs::create_directories("runs/photos");
  CHECK(anything_named("photos", "runs") == "runs/photos");
  CHECK_THROWS_AS((void)anything_named("none", "runs"), CheckpointError);
}
