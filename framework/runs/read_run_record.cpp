#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/printable.h"
#include "framework/io/atomic_file.h"
#include "framework/runs/run_record.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace learn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = 16U << 20U;
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxNames = 10'000;     ///< of one object
constexpr std::size_t kMaxEntries = 300'000;  ///< of one list; a system passes about as many words
constexpr std::array<std::string_view, 3> kNeeded{"status", "argv", "started"};
constexpr std::array<std::string_view, 5> kStatuses{
    "running", "finished", "interrupted", "crashed", "diverged"};

/// Reads a record event by event, so that a file that is not a record costs no more memory than its
/// bytes. Each value has a place, "best.value" or "steps.records[].batch", and the places of a
/// record have fields; values at other places are ignored.
class RecordReader final : public nlohmann::json_sax<Json> {
 public:
  RecordReader(RunRecord& record, std::string file)
      : record_(record),
        file_(std::move(file)),
        fields_{{"status", &record.status},
                {"exit_code", &record.exit_code},
                {"error", &record.error},
                {"seed", &record.seed},
                {"device", &record.device},
                {"threads", &record.threads},
                {"precision", &record.precision},
                {"peak_lr", &record.peak_lr},
                {"model.name", &record.model},
                {"model.parameters", &record.parameters},
                {"dataset.name", &record.dataset},
                {"dataset.synthetic", &record.synthetic},
                {"dataset.fingerprint", &record.fingerprint},
                {"dataset.train_samples", &record.train_samples},
                {"dataset.valid_samples", &record.valid_samples},
                {"started", &record.started},
                {"ended", &record.ended},
                {"epochs", &record.epochs},
                {"epochs_done", &record.epochs_done},
                {"steps.applied", &record.steps.applied},
                {"steps.skipped", &record.steps.skipped},
                {"steps.loss_scale", &record.steps.loss_scale}} {}

  bool null() override {
    const std::string place = begin_value();
    const std::optional<Field> field = field_at(place);
    if (field && std::holds_alternative<double*>(*field))
      *std::get<double*>(*field) = std::numeric_limits<double>::quiet_NaN();
    else if (field || (is_container(place) && place != "best"))
      reject(place, "null");
    return true;
  }

  bool boolean(bool value) override { return store<bool>(value, fmt::format("{}", value)); }

  bool number_integer(std::int64_t value) override {
    // Nothing in a record is negative but what is measured.
    return store<double>(static_cast<double>(value), fmt::format("{}", value));
  }

  bool number_unsigned(std::uint64_t value) override {
    const std::string place = begin_value();
    const std::optional<Field> field = field_at(place);
    if (!field) return pass_over(place, fmt::format("{}", value));
    const auto take = [&]<class T>(T* into) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
        reject(place, fmt::format("{}, which is too large", value));
      *into = static_cast<T>(value);
    };
    if (auto* const* real = std::get_if<double*>(&*field))
      **real = static_cast<double>(value);
    else if (auto* const* small = std::get_if<int*>(&*field))
      take(*small);
    else if (auto* const* whole = std::get_if<std::int64_t*>(&*field))
      take(*whole);
    else if (auto* const* large = std::get_if<std::uint64_t*>(&*field))
      take(*large);
    else
      reject(place, fmt::format("{}", value));
    return true;
  }

  bool number_float(double value, const std::string& text) override {
    return store<double>(value, text);
  }

  bool string(std::string& value) override {
    return store<std::string>(value, fmt::format("the text '{}'", value));
  }

  bool binary(binary_t&) override { return false; }  // JSON does not have it

  bool start_object(std::size_t) override {
    const std::string place = begin_value();
    if (place == "best") {
      RunRecord::Best& best = *(record_.best = RunRecord::Best{});
      fields_["best.metric"] = &best.metric;
      fields_["best.value"] = &best.value;
      fields_["best.epoch"] = &best.epoch;
    } else if (place == "resumes[]") {
      RunRecord::Resume& resume = record_.resumes.emplace_back();
      fields_["resumes[].at"] = &resume.at;
      fields_["resumes[].precision"] = &resume.precision;
    } else if (place == "steps.records[]") {
      RunRecord::Steps::Record& step = record_.steps.records.emplace_back();
      fields_["steps.records[].batch"] = &step.batch;
      fields_["steps.records[].event"] = &step.event;
      fields_["steps.records[].loss_scale_before"] = &step.scale_before;
      fields_["steps.records[].loss_scale_after"] = &step.scale_after;
    } else if (field_at(place) || is_list(place)) {
      reject(place, "an object");
    }
    return descend(place, false);
  }

  bool key(std::string& name) override {
    Level& level = levels_.back();
    if (level.names.size() >= kMaxNames) wrong(fmt::format("more than {} names", kMaxNames));
    if (!level.names.insert(name).second) wrong(fmt::format("'{}' occurs twice", name));
    level.name = name;
    return true;
  }

  bool end_object() override {
    if (levels_.size() == 1) names_ = std::move(levels_.back().names);
    levels_.pop_back();
    return true;
  }

  bool start_array(std::size_t) override {
    const std::string place = begin_value();
    if (field_at(place) || (is_container(place) && !is_list(place))) reject(place, "a list");
    return descend(place, true);
  }

  bool end_array() override {
    levels_.pop_back();
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 2, column 1: ..."
    const std::string_view what = e.what();
    wrong(fmt::format("this is not JSON: {}", what.substr(what.find(']') + 2)));
  }

  /// Throws DataError for what only shows at the end.
  void finish() const {
    for (const std::string_view name : kNeeded)
      if (!names_.contains(std::string(name))) wrong(fmt::format("it has no '{}'", name));
    if (std::find(kStatuses.begin(), kStatuses.end(), record_.status) == kStatuses.end())
      wrong(fmt::format("'status' is '{}', which is not a status of a run", record_.status));
  }

 private:
  using Field = std::variant<std::string*, double*, int*, std::int64_t*, std::uint64_t*, bool*>;

  /// An object or a list that is open.
  struct Level {
    std::string place;
    bool list = false;
    std::string name;               ///< of the value that comes
    std::set<std::string> names{};  ///< that came
    std::size_t entries = 0;
  };

  [[nodiscard]] static bool is_list(std::string_view place) {
    return place == "argv" || place == "resumes" || place == "resumes[].argv" ||
           place == "steps.records";
  }

  [[nodiscard]] static bool is_container(std::string_view place) {
    return is_list(place) || place.empty() || place == "versions" || place == "machine" ||
           place == "model" || place == "dataset" || place == "best" || place == "results" ||
           place == "steps" || place == "resumes[]" || place == "steps.records[]";
  }

  /// Place of the value that starts now.
  [[nodiscard]] std::string begin_value() {
    if (levels_.empty()) return {};
    Level& level = levels_.back();
    if (level.list && ++level.entries > kMaxEntries)
      wrong(fmt::format("'{}' has more than {} entries", level.place, kMaxEntries));
    if (level.list) return level.place + "[]";
    // A name that looks like a place is ignored.
    const bool plain = !level.name.empty() && level.name.find_first_of(".[") == std::string::npos;
    const std::string name = plain ? level.name : fmt::format("'{}'", level.name);
    return level.place.empty() ? name : level.place + "." + name;
  }

  [[nodiscard]] std::optional<Field> field_at(const std::string& place) {
    if (place == "argv[]") return &record_.argv.emplace_back();
    if (place == "resumes[].argv[]") return &record_.resumes.back().argv.emplace_back();
    if (!levels_.empty() && levels_.back().place == "versions")
      return &record_.versions[levels_.back().name];
    if (!levels_.empty() && levels_.back().place == "machine")
      return &record_.machine[levels_.back().name];
    if (!levels_.empty() && levels_.back().place == "results")
      return &record_.results[levels_.back().name];
    const auto found = fields_.find(place);
    return found == fields_.end() ? std::nullopt : std::optional(found->second);
  }

  template <class T>
  bool store(const T& value, const std::string& shown) {
    const std::string place = begin_value();
    const std::optional<Field> field = field_at(place);
    if (!field) return pass_over(place, shown);
    if (!std::holds_alternative<T*>(*field)) reject(place, shown);
    *std::get<T*>(*field) = value;
    return true;
  }

  bool pass_over(const std::string& place, const std::string& shown) const {
    if (is_container(place)) reject(place, shown);
    return true;
  }

  bool descend(const std::string& place, bool list) {
    if (levels_.size() >= kMaxDepth) wrong(fmt::format("'{}' is nested too deeply", place));
    levels_.push_back({.place = place, .list = list});
    return true;
  }

  [[noreturn]] void wrong(std::string what, SourceLocation at = SourceLocation::current()) const {
    constexpr std::size_t kShown = 300;
    what = printable_line(what);
    if (std::size_t end = kShown; what.size() > end) {
      while ((static_cast<unsigned char>(what[end]) & 0xC0U) == 0x80U) --end;  // inside a character
      what = what.substr(0, end) + "...";
    }
    fail_from<DataError>(at, "'{}' is not a valid record of a run: {}", file_, what);
  }
  [[noreturn]] void reject(const std::string& place,
                           const std::string& shown,
                           SourceLocation at = SourceLocation::current()) const {
    wrong((place.empty() ? "it" : "'" + place + "'") + " is " + shown, at);
  }

  RunRecord& record_;
  std::string file_;
  std::map<std::string, Field> fields_;
  std::vector<Level> levels_;
  std::set<std::string> names_;  ///< of the record itself
};

}  // namespace

RunRecord parse_run_record(std::string_view text, const std::string& file) {
  RunRecord record;
  RecordReader reader(record, file);
  Json::sax_parse(text.begin(), text.end(), &reader);
  reader.finish();
  return record;
}

RunRecord read_run_record(const fs::path& run) {
  const fs::path file = run / "run.json";
  return parse_run_record(read_text_file(file, kMaxBytes), file.string());
}

RunRecord read_past(const fs::path& run) {
  std::error_code ignored;
  try {
    if (fs::exists(run / "run.json", ignored)) return read_run_record(run);
  } catch (const Error& e) {
    log::warn("[run] {}", e.what());
  }
  return {.status = ""};
}

}  // namespace learn
