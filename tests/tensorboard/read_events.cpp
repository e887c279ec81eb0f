#include "tests/tensorboard/read_events.h"

#include "framework/io/atomic_file.h"
#include "framework/tensorboard/record.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace learn::test {

namespace fs = std::filesystem;
using tensorboard::proto::Event;

std::vector<Event> read_events(const fs::path& file) {
  constexpr std::size_t kHead = 12, kTail = 4;
  const std::string bytes = read_text_file(file, std::size_t{1} << 28U);
  std::vector<Event> events;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t size = 0;
    if (at + kHead + kTail > bytes.size()) throw std::runtime_error("a record is cut");
    std::memcpy(&size, bytes.data() + at, sizeof size);
    if (size > bytes.size() - at - kHead - kTail) throw std::runtime_error("a record is cut");
    const std::string content = bytes.substr(at + kHead, size);
    if (tensorboard::record(content) != bytes.substr(at, kHead + size + kTail))
      throw std::runtime_error("wrong checksum");
    if (!events.emplace_back().ParseFromString(content)) throw std::runtime_error("no event");
    at += kHead + size + kTail;
  }
  return events;
}

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("events.out.tfevents."))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

namespace {

void drop_from(std::int64_t step, std::map<std::int64_t, tensorboard::proto::Summary::Value>& of) {
  of.erase(of.lower_bound(step), of.end());
}

template <class Preempt>
Tags taken(const fs::path& folder, Preempt preempt) {
  Tags tags;
  for (const fs::path& file : event_files(folder))
    for (const Event& event : read_events(file)) {
      preempt(event, tags);
      for (const auto& value : event.summary().value())
        if (!tags[value.tag()].emplace(event.step(), value).second)
          throw std::runtime_error(value.tag() + " has a step twice");
    }
  return tags;
}

}  // namespace

Tags shown(const fs::path& folder) {
  return taken(folder, [](const Event& event, Tags& tags) {
    if (event.session_log().status() != tensorboard::proto::SessionLog::START) return;
    for (auto& [tag, values] : tags) drop_from(event.step(), values);
  });
}

Tags served(const fs::path& folder) {
  return taken(folder, [](const Event& event, Tags& tags) {
    for (const auto& value : event.summary().value()) drop_from(event.step(), tags[value.tag()]);
  });
}

std::string steps(const Tags& tags, const std::string& tag) {
  std::string text;
  if (!tags.contains(tag)) return text;
  for (const auto& [step, value] : tags.at(tag))
    text += (text.empty() ? "" : " ") + std::to_string(step);
  return text;
}

}  // namespace learn::test
