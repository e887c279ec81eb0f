#include "callbacks/diagnose/fault.h"

#include "framework/core/options/option_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace learn::callbacks {
namespace {

/// The kind of argument after the colon.
enum class Detail : std::uint8_t { none, place, factor, time, event };

struct Known {
  FaultKind kind;
  std::string_view name;
  Detail detail;
};

constexpr std::array kKnown{
    Known{FaultKind::overflow, "overflow", Detail::place},
    Known{FaultKind::nan, "nan", Detail::place},
    Known{FaultKind::overflow_act, "overflow_act", Detail::place},
    Known{FaultKind::nan_act, "nan_act", Detail::place},
    Known{FaultKind::spike, "spike", Detail::factor},
    Known{FaultKind::inf_loss, "inf_loss", Detail::none},
    Known{FaultKind::slow, "slow", Detail::time},
    Known{FaultKind::raise, "throw", Detail::event},
    Known{FaultKind::kill, "kill", Detail::event},
};

constexpr double kUsualSpike = 1000;
constexpr double kLongestWait = 3600;

/// The events of a training batch, where something can be thrown.
std::vector<std::string> batch_events() {
  std::vector<std::string> names;
  for (const EventInfo& info : kEventTable)
    if (info.scope == Scope::batch || info.scope == Scope::step) names.emplace_back(info.name);
  return names;
}

/// Parses "2s" and "500ms" to seconds.
double parse_seconds(std::string_view text) {
  constexpr double kMilli = 1e-3;
  double unit = 0;
  if (text.ends_with("ms")) {
    unit = kMilli;
    text.remove_suffix(2);
  } else if (text.ends_with('s')) {
    unit = 1;
    text.remove_suffix(1);
  }
  if (unit == 0) fail<UsageError>("a time must be like 2s or 500ms, not '{}'", text);
  return unit * parse_real(std::string(text), {.low = 0, .high = kLongestWait / unit});
}

/// A part of a text and its position in the whole, for error messages.
struct Piece {
  std::string_view whole;
  std::string_view text;

  /// Returns the part before the first `separator`; `rest` becomes the part after it. Without a
  /// separator `rest` becomes empty, at the end of the text.
  [[nodiscard]] Piece before(std::string_view separator, Piece& rest) const {
    const std::size_t at = std::min(text.find(separator), text.size());
    rest = {whole, text.substr(std::min(at + separator.size(), text.size()))};
    return {whole, text.substr(0, at)};
  }
  [[nodiscard]] std::string words() const { return std::string(text); }
  /// Runs `read` and adds the position of this text to its UsageError.
  template <class F>
  void reading(F read) const {
    try {
      read();
    } catch (const UsageError& e) {
      fail<UsageError>("character {} of '{}': {}", text.data() - whole.data() + 1, whole, e.what());
    }
  }
};

const Known& known_fault(const std::string& name) {
  std::vector<std::string> names;
  names.reserve(kKnown.size());
  for (const Known& one : kKnown) names.emplace_back(one.name);
  require_known("fault", name, names);
  return *std::find_if(
      kKnown.begin(), kKnown.end(), [&](const Known& one) { return one.name == name; });
}

void read_detail(const Known& known, const Piece& detail, Fault& fault) {
  if (detail.text.empty()) return;
  detail.reading([&] {
    switch (known.detail) {
      case Detail::none:
        fail<UsageError>("'{}' accepts only a batch, not '{}'", known.name, detail.text);
      case Detail::place:
        fault.place = detail.words();
        return;
      case Detail::factor:
        fault.amount = parse_real(detail.words(), kPositive);
        return;
      case Detail::time:
        fault.amount = parse_seconds(detail.text);
        return;
      case Detail::event:
        require_known("event of a batch", detail.words(), batch_events());
        for (const EventInfo& info : kEventTable)
          if (info.name == detail.text) fault.event = info.event;
        return;
    }
  });
}

Fault parse_fault(const Piece& item) {
  Piece rest, detail;
  const Piece name = item.before("@", rest);
  Fault fault;
  const Known* known = nullptr;
  name.reading([&] { known = &known_fault(name.words()); });
  fault.kind = known->kind;
  if (known->detail == Detail::factor) fault.amount = kUsualSpike;
  if (known->detail == Detail::time) fault.amount = 1;
  const Piece batches = rest.before(":", detail);
  Piece last;
  const Piece first = batches.before("-", last);
  first.reading([&] {
    if (first.text.empty())
      fail<UsageError>("'{0}' needs a batch, counted from 1: {0}@17 or {0}@17-20", known->name);
    fault.first = fault.last = parse_integer(first.words(), kCount);
  });
  if (first.text.size() < batches.text.size())
    last.reading([&] {
      fault.last = parse_integer(last.words(), {.low = static_cast<double>(fault.first)});
    });
  read_detail(*known, detail, fault);
  return fault;
}

}  // namespace

std::vector<Fault> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  for (Piece rest{text, text}; !rest.text.empty() || faults.empty();) {
    const Piece item = rest;
    faults.push_back(parse_fault(item.before(",", rest)));
  }
  return faults;
}

std::string_view name_of(FaultKind kind) noexcept {
  for (const Known& one : kKnown)
    if (one.kind == kind) return one.name;
  return "?";
}

}  // namespace learn::callbacks
