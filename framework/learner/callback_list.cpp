#include "framework/learner/callback_list.h"

#include "framework/core/error.h"
#include "framework/core/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace learn {
namespace {

using Handler = void (Callback::*)(Learner&);

/// The handlers of the table's events, in its order.
constexpr std::array<Handler, kEventTable.size()> kHandlers{
#define LEARN_HANDLER(name, role, scope) &Callback::name,
    LEARN_EVENTS(LEARN_HANDLER)
#undef LEARN_HANDLER
};

/// The event that a line of the loop is, or `kEventCount` for none.
std::size_t event_index(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  for (std::size_t i = 0; i < kEventCount; ++i)
    if (name_of(static_cast<Event>(i)) == line) return i;
  return kEventCount;
}

}  // namespace

Callback& CallbackList::insert(std::shared_ptr<Callback> callback, EventSet events) {
  check<UsageError>(callback != nullptr, "a null callback was added");
  for (const Entry& entry : entries_)
    if (entry.callback == callback)
      fail<UsageError>("callback '{}' was added twice: create a second object", callback->name());
  const std::vector<std::string> claims = callback->claims();
  for (const Entry& entry : entries_) {
    if (entry.silenced > 0) continue;
    for (const std::string& theirs : entry.callback->claims())
      if (std::find(claims.begin(), claims.end(), theirs) != claims.end())
        fail<UsageError>("callbacks '{}' and '{}' both {}: remove one of them",
                         entry.callback->name(),
                         callback->name(),
                         theirs);
  }
  const auto before = [](int order, const Entry& entry) { return order < entry.callback->order(); };
  const auto at = std::upper_bound(entries_.begin(), entries_.end(), callback->order(), before);
  return *entries_.insert(at, Entry{std::move(callback), events})->callback;
}

void CallbackList::remove(const Callback& callback) {
  const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.callback.get() == &callback;
  });
  if (at == entries_.end()) fail<UsageError>("the callback to remove is not in this learner");
  entries_.erase(at);
}

void CallbackList::enter_sandbox() {
  for (Entry& entry : entries_)
    if (!entry.callback->runs_in_sandbox()) ++entry.silenced;
}

void CallbackList::leave_sandbox() noexcept {
  for (Entry& entry : entries_)
    if (entry.silenced > 0) --entry.silenced;
}

std::vector<const Callback*> CallbackList::listeners(Event event) const {
  std::vector<const Callback*> out;
  for (const Entry& entry : entries_)
    if (entry.silenced == 0 && entry.events[index_of(event)]) out.push_back(entry.callback.get());
  return out;
}

std::string CallbackList::explain() const {
  std::string out;
  for (std::string_view rest = kLoop; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    std::string names;
    if (const std::size_t event = event_index(line); event < kEventCount)
      for (const Callback* callback : listeners(static_cast<Event>(event)))
        names += fmt::format("{}{}", names.empty() ? "" : ", ", callback->name());
    out += names.empty() ? fmt::format("{}\n", line) : fmt::format("{:<22}{}\n", line, names);
  }
  return out;
}

void CallbackList::each(Event event, FunctionRef<bool(Callback&)> handler) {
  event_ = event;
  for (const Entry& entry : entries_) {
    if (entry.silenced > 0 || !entry.events[index_of(event)]) continue;
    running_ = entry.callback.get();
    if (!handler(*entry.callback)) break;
  }
  running_ = nullptr;
}

void CallbackList::emit(Learner& learn, Event event, FunctionRef<bool()> stop) {
  const Handler handler = kHandlers.at(index_of(event));
  each(event, [&](Callback& callback) {
    (callback.*handler)(learn);
    return !stop();
  });
}

void CallbackList::emit_cancelled(Learner& learn, Scope scope) {
  each(Event::cancelled, [&](Callback& callback) {
    callback.cancelled(learn, scope);
    return true;
  });
}

void CallbackList::emit_error(Learner& learn, const std::exception& error) noexcept {
  each(Event::error, [&](Callback& callback) {
    try {
      callback.error(learn, error);
    } catch (const std::exception& second) {
      log::error("[learner] the error handler of '{}' threw: {}", callback.name(), second.what());
    }
    return true;
  });
}

std::string CallbackList::current_handler() const {
  if (running_ == nullptr) return "outside of any handler";
  return fmt::format("'{}' at {}", running_->name(), name_of(event_));
}

PrecisionState* CallbackList::precision() const {
  for (const Entry& entry : entries_)
    if (PrecisionState* const found = entry.callback->precision()) return found;
  return nullptr;
}

Exchange* CallbackList::exchange() const {
  for (const Entry& entry : entries_)
    if (Exchange* const found = entry.callback->exchange()) return found;
  return nullptr;
}

void CallbackList::visit_state(StateVisitor& visitor) {
  std::map<std::string, int> seen;
  for (const Entry& entry : entries_) {
    std::string name(entry.callback->name());
    if (const int count = ++seen[name]; count > 1) name += fmt::format("_{}", count);
    const StateVisitor::Scope one(visitor, name);
    entry.callback->visit_state(visitor);
  }
}

void CallbackList::append_captured_options(std::vector<double>& options) const {
  for (const Entry& entry : entries_) {
    const std::vector<double> own = entry.callback->captured_options();
    options.push_back(static_cast<double>(own.size()));
    options.insert(options.end(), own.begin(), own.end());
  }
}

void CallbackList::append_metrics(std::vector<std::string>& names) const {
  for (const Entry& entry : entries_) {
    const std::vector<std::string> own = entry.callback->metrics();
    names.insert(names.end(), own.begin(), own.end());
  }
}

}  // namespace learn
