#include "tests/io/crash_fs.h"

#include <algorithm>
#include <cerrno>
#include <set>

namespace learn::test {
namespace {

constexpr std::size_t kSector = 512;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kEverySubset = 7;  // above this number of name changes, only some subsets

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

void zero(std::string& content, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < std::min(end, content.size()); ++i) content[i] = '\0';
}

/// Which of `count` changes that were not synced are found: every subset of a few; of many none,
/// all, the first ones, all but one, one alone, all but two that follow one another.
std::vector<std::vector<bool>> subsets(std::size_t count) {
  std::vector<std::vector<bool>> all;
  if (count <= kEverySubset) {
    for (std::size_t bits = 0; bits < (std::size_t{1} << count); ++bits) {
      std::vector<bool> chosen(count);
      for (std::size_t i = 0; i < count; ++i) chosen[i] = (bits >> i & 1U) != 0;
      all.push_back(std::move(chosen));
    }
    return all;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<bool> first(count);
    std::fill_n(first.begin(), i, true);
    std::vector<bool> without(count, true);
    without[i] = false;
    std::vector<bool> alone(count);
    alone[i] = true;
    std::vector<bool> without_two = without;
    without_two[(i + 1) % count] = false;
    all.insert(all.end(), {first, without, alone, without_two});
  }
  all.emplace_back(count, true);
  return all;
}

}  // namespace

/// Names that are durable, and changes of them that are not yet.
struct CrashFs::Names {
  struct Change {
    std::string path;
    std::optional<Node> node;  // nothing: the name is taken away
    std::size_t call;          // in the journal
    bool second = false;       // of a rename: not without the first half
  };
  std::map<std::string, Node> durable;
  std::vector<Change> pending;
};

CrashFs::CrashFs(const DiskState& start) {
  std::map<std::string, Node> by_content;
  for (const auto& [path, content] : start) {
    const auto [same, is_new] = by_content.try_emplace(content.value_or(""), durable_.size());
    names_[path] = content && !is_new ? same->second : durable_.size();
    if (names_[path] == durable_.size()) durable_.push_back(content);
  }
  durable_names_ = names_;
}

int CrashFs::create(const std::filesystem::path& path) {
  if (names_.contains(path.string())) {
    errno = EEXIST;
    return -1;
  }
  const Node node = durable_.size();
  durable_.emplace_back("");
  names_[path.string()] = node;
  journal_.push_back({.kind = Call::Kind::set, .node = node, .path = path.string()});
  open_[next_file_] = node;
  return next_file_++;
}

ssize_t CrashFs::write(int file, std::span<const std::byte> bytes) {
  bytes = bytes.first(std::min(bytes.size(), kChunk));
  std::string text(bytes.size(), '\0');
  std::transform(
      bytes.begin(), bytes.end(), text.begin(), [](std::byte b) { return static_cast<char>(b); });
  journal_.push_back({.kind = Call::Kind::write, .node = open_.at(file), .bytes = std::move(text)});
  return static_cast<ssize_t>(bytes.size());
}

int CrashFs::sync(int file) {
  journal_.push_back({.kind = Call::Kind::sync, .node = open_.at(file)});
  return 0;
}

int CrashFs::close(int file) {
  open_.erase(file);
  return 0;
}

int CrashFs::link(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (!names_.contains(from.string()) || names_.contains(to.string())) {
    errno = names_.contains(from.string()) ? EEXIST : ENOENT;
    return -1;
  }
  const Node node = names_.at(from.string());
  names_[to.string()] = node;
  journal_.push_back({.kind = Call::Kind::set, .node = node, .path = to.string()});
  return 0;
}

int CrashFs::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (!names_.contains(from.string())) {
    errno = ENOENT;
    return -1;
  }
  const Node node = names_.at(from.string());
  // POSIX: of two names of one file, both stay.
  if (const auto there = names_.find(to.string()); there != names_.end() && there->second == node)
    return 0;
  names_.erase(from.string());
  names_[to.string()] = node;
  journal_.push_back(
      {.kind = Call::Kind::move, .node = node, .path = to.string(), .before = from.string()});
  return 0;
}

int CrashFs::unlink(const std::filesystem::path& path) {
  if (names_.erase(path.string()) == 0) {
    errno = ENOENT;
    return -1;
  }
  journal_.push_back({.kind = Call::Kind::erase, .path = path.string()});
  return 0;
}

int CrashFs::make_folder(const std::filesystem::path& path) {
  if (names_.contains(path.string())) {
    errno = EEXIST;
    return -1;
  }
  const std::string up = folder_of(path.string());
  if (!up.empty() && !names_.contains(up)) {
    errno = ENOENT;
    return -1;
  }
  const Node node = durable_.size();
  durable_.emplace_back(std::nullopt);
  names_[path.string()] = node;
  journal_.push_back({.kind = Call::Kind::set, .node = node, .path = path.string()});
  return 0;
}

int CrashFs::sync_folder(const std::filesystem::path& path) {
  journal_.push_back({.kind = Call::Kind::sync_folder, .path = path.string()});
  return 0;
}

CrashFs::Names CrashFs::names_after(std::size_t steps) const {
  Names names{.durable = durable_names_};
  const auto make_durable = [&](const std::string& folder) {
    std::vector<Names::Change> left;
    for (Names::Change& change : names.pending) {
      if (folder_of(change.path) != folder) {
        left.push_back(std::move(change));
      } else if (change.node) {
        names.durable[change.path] = *change.node;
      } else {
        names.durable.erase(change.path);
      }
    }
    names.pending = std::move(left);
  };
  for (std::size_t i = 0; i < steps; ++i) {
    const Call& call = journal_[i];
    if (call.kind == Call::Kind::sync_folder) make_durable(call.path);
    if (call.kind == Call::Kind::set || call.kind == Call::Kind::move)
      names.pending.push_back({.path = call.path, .node = call.node, .call = i});
    if (call.kind == Call::Kind::erase) names.pending.push_back({.path = call.path, .call = i});
    if (call.kind == Call::Kind::move)
      names.pending.push_back({.path = call.before, .call = i, .second = true});
  }
  return names;
}

/// Possible contents of a file: synced, written, and anything in between.
std::vector<std::string> CrashFs::contents_after(std::size_t steps, Node node) const {
  std::string synced = durable_[node].value_or("");
  std::string written = synced;
  for (std::size_t i = 0; i < steps; ++i) {
    const Call& call = journal_[i];
    if (call.node != node) continue;
    if (call.kind == Call::Kind::write) written += call.bytes;
    if (call.kind == Call::Kind::sync) synced = written;
  }
  if (synced == written) return {written};
  std::vector<std::string> found{synced};
  const std::size_t begin = synced.size();
  const std::size_t end = written.size();
  for (const std::size_t torn : {kSector, kPage}) {
    std::string some = written;       // the length is there, but of the bytes
    zero(some, begin, begin + torn);  // not the first,
    found.push_back(some);
    some = written;
    zero(some, begin + torn, end);  // only the first,
    found.push_back(some);
    some = written;
    const std::size_t middle = begin + (end - begin) / 2 / torn * torn;
    zero(some, middle, middle + torn);  // not those in the middle,
    found.push_back(some);
    some = written;
    zero(some, std::max(begin, (end - 1) / torn * torn), end);  // not the last
    found.push_back(some);
    found.push_back(written.substr(0, std::min(end, begin + torn)));  // a part of the length
    found.push_back(written.substr(0, std::max(begin, (end - 1) / torn * torn)));
  }
  std::string nothing = written;
  zero(nothing, begin, end);
  found.push_back(nothing);
  found.push_back(written);
  std::sort(found.begin(), found.end() - 1);
  found.erase(std::unique(found.begin(), found.end() - 1), found.end() - 1);
  return found;
}

void CrashFs::crash_after(std::size_t steps,
                          const std::function<void(const DiskState&)>& show) const {
  const Names names = names_after(steps);
  std::map<Node, std::vector<std::string>> contents;
  std::set<std::map<std::string, Node>> seen;
  for (const std::vector<bool>& chosen : subsets(names.pending.size())) {
    std::map<std::string, Node> found = names.durable;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Names::Change& change = names.pending[i];
      if (!chosen[i]) continue;
      // The first half of a rename precedes the second.
      if (change.second && (i == 0 || names.pending[i - 1].call != change.call || !chosen[i - 1]))
        continue;
      if (change.node)
        found[change.path] = *change.node;
      else
        found.erase(change.path);
    }
    // The content of a lost folder is lost with it.
    std::erase_if(found, [&](const auto& entry) {
      for (std::string up = folder_of(entry.first); !up.empty() && up != "/"; up = folder_of(up))
        if (!found.contains(up)) return true;
      return false;
    });
    if (!seen.insert(found).second) continue;
    std::set<Node> nodes;
    for (const auto& [path, node] : found) nodes.insert(node);
    std::size_t variants = 1;
    for (const Node node : nodes) {
      if (!durable_[node]) continue;
      if (!contents.contains(node)) contents[node] = contents_after(steps, node);
      variants = std::max(variants, contents[node].size());
    }
    // Files that are not synced at the same time are torn together, or the one and not the other.
    for (std::size_t variant = 0; variant < variants; ++variant) {
      const auto content = [&](Node node, bool torn) -> std::optional<std::string> {
        if (!durable_[node]) return std::nullopt;
        const std::vector<std::string>& all = contents[node];
        return torn ? all[std::min(variant, all.size() - 1)] : all.back();
      };
      for (const Node alone : nodes) {
        if (variant + 1 < variants && durable_[alone] && contents[alone].size() == 1) continue;
        DiskState state;
        for (const auto& [path, node] : found) state[path] = content(node, node == alone);
        show(state);
      }
      DiskState state;
      for (const auto& [path, node] : found) state[path] = content(node, true);
      show(state);
    }
  }
}

}  // namespace learn::test
