#include "tests/learner/expected_trace.h"

#include "framework/core/error.h"
#include "framework/core/format.h"
#include "tests/learner/tracer.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tiny {
namespace {

using learn::Event;
using learn::EventRole;
using learn::Scope;

struct Emitted {
  Event event;
  bool training;
};
using Run = std::vector<Emitted>;

/// The lines of `kLoop` with what they say, up to "at any time".
class PrintedLoop {
 public:
  PrintedLoop() {
    for (std::string_view rest = learn::kLoop; !rest.starts_with("at any time");) {
      lines_.push_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(lines_.back().size() + 1);
    }
  }

  [[nodiscard]] Run unroll(const Rounds& rounds) const {
    Run run;
    unroll(0, lines_.size(), true, rounds, run);
    return run;
  }

 private:
  static std::size_t indent(std::string_view line) { return line.find_first_not_of(' '); }

  void unroll(
      std::size_t begin, std::size_t end, bool training, const Rounds& rounds, Run& run) const {
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view text = lines_[i].substr(indent(lines_[i]));
      for (const learn::EventInfo& info : learn::kEventTable) {
        const bool left_out = info.scope == Scope::validate && rounds.validation_batches == 0;
        if (info.name == text && !left_out) run.push_back({info.event, training});
      }
      if (!text.starts_with("for each ")) continue;
      std::size_t after = i + 1;
      while (after < end && indent(lines_[after]) > indent(lines_[i])) ++after;
      const bool validation = text == "for each validation batch:";
      const std::int64_t times = validation                  ? rounds.validation_batches
                                 : text == "for each epoch:" ? rounds.epochs
                                                             : rounds.batches;
      for (std::int64_t n = 0; n < times; ++n)
        unroll(i + 1, after, training && !validation, rounds, run);
      i = after - 1;
    }
  }

  std::vector<std::string_view> lines_;
};

std::size_t find(const Run& run, const Place& place) {
  const Scope scope = info_of(place.event).scope;
  const bool in_batch = scope == Scope::batch || scope == Scope::step;
  std::int64_t before = place.before;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const bool here =
        run[i].event == place.event && (!in_batch || run[i].training == place.training);
    if (here && before-- == 0) return i;
  }
  return run.size();
}

/// The scopes that are open at an event, from the outermost on.
std::vector<Scope> open_scopes(const Run& run, std::size_t at) {
  std::vector<Scope> open;
  for (std::size_t i = 0; i <= at; ++i) {
    const learn::EventInfo& info = info_of(run[i].event);
    if (info.role == EventRole::opens) open.push_back(info.scope);
    if (info.role == EventRole::closes && i < at) open.pop_back();
  }
  return open;
}

bool closes(Event event, Scope scope) {
  return info_of(event).role == EventRole::closes && info_of(event).scope == scope;
}

std::string end_of(Scope scope) {
  for (const learn::EventInfo& info : learn::kEventTable)
    if (closes(info.event, scope)) return mark_of(info.event);
  return {};
}

void append(std::vector<std::string>& marks, Run::const_iterator begin, Run::const_iterator end) {
  for (auto at = begin; at != end; ++at) marks.push_back(mark_of(at->event));
}

std::string text_of(const Run& run) {
  std::vector<std::string> marks;
  append(marks, run.begin(), run.end());
  return learn::join(marks, " ");
}

/// The run from the first `opening` to the first `closing` event after it, both included.
std::pair<std::size_t, std::size_t> stretch(const Run& run, Event opening, Event closing) {
  const std::size_t begin = find(run, {opening});
  std::size_t end = begin;
  while (run[end].event != closing) ++end;
  return {begin, end + 1};
}

}  // namespace

std::string expected_trace(const Rounds& rounds) { return text_of(PrintedLoop().unroll(rounds)); }

std::string expected_trace(const Place& place, Scope cancelled, Tracing tracing) {
  const Run run = PrintedLoop().unroll({});
  const std::size_t at = find(run, place);
  learn::check<std::logic_error>(at < run.size(), "{} does not come", name_of(place.event));
  if (closes(place.event, cancelled)) return text_of(run);  // rule 4: it closes as normal
  std::vector<Scope> open = open_scopes(run, at);
  if (info_of(place.event).role == EventRole::closes) open.pop_back();
  std::vector<std::string> marks;
  // Rules 1 and 2: who comes after the one that cancels hears of brackets alone.
  const bool heard = tracing == Tracing::before || info_of(place.event).role != EventRole::inside;
  append(marks, run.begin(), run.begin() + static_cast<std::ptrdiff_t>(at + (heard ? 1 : 0)));
  // Rule 3.
  for (; open.back() != cancelled; open.pop_back()) marks.push_back(end_of(open.back()));
  marks.push_back(fmt::format("!{}", name_of(cancelled)));
  append(marks,
         std::find_if(run.begin() + static_cast<std::ptrdiff_t>(at + 1),
                      run.end(),
                      [&](const Emitted& one) { return closes(one.event, cancelled); }),
         run.end());
  return learn::join(marks, " ");
}

std::string expected_trace_without_first_step() {
  Run run = PrintedLoop().unroll({});
  const auto [begin, end] = stretch(run, Event::step_begin, Event::step_end);
  run.erase(run.begin() + static_cast<std::ptrdiff_t>(begin),
            run.begin() + static_cast<std::ptrdiff_t>(end));
  return text_of(run);
}

std::string expected_validation() {
  const Run run = PrintedLoop().unroll({});
  const auto [begin, end] = stretch(run, Event::validate_begin, Event::validate_end);
  return text_of({run.begin() + static_cast<std::ptrdiff_t>(begin),
                  run.begin() + static_cast<std::ptrdiff_t>(end)});
}

bool occurs(const Place& place) {
  const Run run = PrintedLoop().unroll({});
  return find(run, place) < run.size();
}

bool is_open(Scope scope, const Place& place) {
  const Run run = PrintedLoop().unroll({});
  const std::vector<Scope> open = open_scopes(run, find(run, place));
  return std::find(open.begin(), open.end(), scope) != open.end();
}

}  // namespace tiny
