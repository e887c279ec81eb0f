#include "framework/runs/result_path.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;
namespace fs = std::filesystem;

namespace {

std::string refusal(const fs::path& target, const std::vector<fs::path>& sources = {}) {
  try {
    check_result_path(target, sources);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "none";
}

bool refuses(const fs::path& target, const char* why, const std::vector<fs::path>& sources = {}) {
  return refusal(target, sources).find(why) != std::string::npos;
}

}  // namespace

TEST_CASE("a result does not replace its input, by whatever name") {
  const TemporaryFolder folder;
  const fs::path source = folder / "a.safetensors";
  write_file_atomically(source, "a");
  fs::create_directory(folder / "sub");
  fs::create_symlink(source, folder / "link");
  fs::create_hard_link(source, folder / "second");
  fs::create_directory_symlink(folder.path(), folder / "sub" / "up");
  const char* const why = "an input of the result";
  for (const fs::path& target : {source,
                                 folder / "sub" / ".." / "a.safetensors",
                                 folder / "link",
                                 folder / "second",
                                 folder / "sub" / "up" / "a.safetensors"}) {
    INFO(target.string());
    CHECK(refuses(target, why, {folder / "other", source}));
  }
  CHECK(refuses(source, why, {folder / "link"}));
  CHECK(refusal(folder / "b.safetensors", {source}) == "none");
  CHECK(refusal(source) == "none");
  CHECK(refusal("not there", {"not there"}) == "none");
}

TEST_CASE("a result does not replace a file of its input folder") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "data" / "cat");
  write_file_atomically(folder / "data" / "cat" / "1.png", "a");
  write_file_atomically(folder / "1.png", "a");
  CHECK(refuses(folder / "data" / "cat" / "1.png", "is a file of", {folder / "data"}));
  CHECK(refusal(folder / "data" / "cat" / "2.png", {folder / "data"}) == "none");
  CHECK(refusal(folder / "1.png", {folder / "data"}) == "none");
}

TEST_CASE("a result does not replace files that a run needs") {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  fs::create_directories(run / "weights");
  for (const char* const name : {"run.json", "config.toml", "weights/mean.safetensors"})
    write_file_atomically(run / name, "{}");
  fs::create_symlink(run / "run.json", folder / "link");
  fs::create_directory_symlink(run / "weights", folder / "w");
  for (const fs::path& target : {run / "run.json",
                                 run / "config.toml",
                                 run / "run.log",
                                 run / "metrics.jsonl",
                                 run / "results.csv",
                                 run / "weights" / "mean.safetensors",
                                 run / "weights" / "best.safetensors",
                                 run / "weights" / "last.safetensors",
                                 run / "weights" / "last.prev.safetensors",
                                 run / "weights" / "epoch-0003.safetensors",
                                 run / "weights" / ".." / "run.json",
                                 folder / "link",
                                 folder / "w" / "best.safetensors"}) {
    INFO(target.string());
    CHECK(refuses(target, "belongs to the run '"));
  }
  for (const fs::path& target : {run / "report.html",
                                 run / "model.onnx",
                                 run / "weights" / "new.safetensors",
                                 folder / "weights" / "best.safetensors",
                                 folder / "run.json"}) {
    INFO(target.string());
    CHECK(refusal(target) == "none");
  }
}
