#include "framework/runs/last_state.h"

#include "framework/core/error.h"
#include "framework/core/log.h"

#include <cerrno>
#include <cstring>

namespace learn {

namespace {

std::unique_ptr<SafetensorsFile> open_state(const std::filesystem::path& path) {
  auto file = std::make_unique<SafetensorsFile>(path);
  const auto kind = file->metadata().find("learn.kind");
  if (kind == file->metadata().end() || kind->second != "train")
    fail<CheckpointError>(
        "'{}' does not contain the state of a training: it was replaced by another file",
        path.string());
  return file;
}

}  // namespace

LastState find_last_state(const std::filesystem::path& weights) {
  const std::filesystem::path last = weights / "last.safetensors";
  const std::filesystem::path previous = weights / "last.prev.safetensors";
  std::string problem;
  try {
    if (std::filesystem::exists(last)) return {open_state(last), ""};
    problem = fmt::format("'{}' is missing", last.string());
  } catch (const Error& e) {
    problem = e.what();
  }
  if (!std::filesystem::exists(previous)) fail<CheckpointError>("{}", problem);
  try {
    return {open_state(previous), problem};
  } catch (const Error& e) {
    fail<CheckpointError>("{}\n  and so is the previous state: {}", problem, e.what());
  }
}

void load_last_state(const std::filesystem::path& weights,
                     const LastState& state,
                     VisitState visit) {
  load_state(state.file->path(), visit);
  if (state.problem.empty()) return;
  log::warn("[resume] {}\n  resuming from the previous state, '{}'",
            state.problem,
            state.file->path().string());
  set_last_state_aside(weights);
}

void set_last_state_aside(const std::filesystem::path& weights, FileSystem& files) {
  const std::filesystem::path last = weights / "last.safetensors";
  if (files.rename(last, weights / "last.damaged.safetensors") == 0) {
    if (files.sync_folder(weights) == 0) return;
  } else if (errno == ENOENT) {
    return;
  }
  fail<IoError>("cannot rename '{}': {}", last.string(), std::strerror(errno));
}

}  // namespace learn
