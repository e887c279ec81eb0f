#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The table of events, in the order of the loop: X(name, role, scope). An event opens or closes
/// the scope, or lies inside of it. Everything else that depends on all events is generated from
/// it: the enum, names, handlers of Callback, dispatch, callbacks made of a function, `explain`. A
/// new event needs its line here and in `kLoop`, and a place in the loop that emits it.
#define LEARN_EVENTS(X)              \
  X(train_begin, opens, train)       \
  X(epoch_begin, opens, epoch)       \
  LEARN_BATCH_EVENTS(X)              \
  X(validate_begin, opens, validate) \
  X(validate_end, closes, validate)  \
  X(epoch_end, closes, epoch)        \
  X(train_end, closes, train)
/// The events of a training batch; a validation batch has some of them.
#define LEARN_BATCH_EVENTS(X)      \
  X(batch_begin, opens, batch)     \
  X(loss_begin, inside, batch)     \
  X(backward_begin, inside, batch) \
  X(backward_end, inside, batch)   \
  X(step_begin, opens, step)       \
  X(step_end, closes, step)        \
  X(batch_end, closes, batch)

namespace learn {

/// The loop, written once. Everything that changes training listens to one of these events.
///
///   train_begin
///     for each epoch: epoch_begin
///       for each batch: batch_begin      x, y are ready            [mixed precision: x to half]
///         pred = model(x)
///                       loss_begin       pred may be replaced      [mixed precision: pred to f32]
///         loss = loss_fn(pred, y)
///                       backward_begin   loss, gradient seed       [mixed precision: seed = scale]
///         backward pass
///                       backward_end     gradients, still scaled   [mixed precision: to f32 master
///                                        gradients, unscale, look for inf and nan]
///                       step_begin       gradients, unscaled       [clipping belongs here]
///         optimizer step on the masters, weight decay included; the loss scale moves
///                       step_end
///                       batch_end
///       validate_begin   (batch_begin loss_begin batch_end) per batch   validate_end
///     epoch_end
///   train_end
///
/// Two more stand outside of the order: `cancelled(Scope)` when a scope ends early, before its end
/// event, and `error(exception)` when something threw, after which nothing else runs.
enum class Event : std::uint8_t {
// clang-format off
#define LEARN_NAME(name, role, scope) name,
  LEARN_EVENTS(LEARN_NAME)
#undef LEARN_NAME
  cancelled,
  error,
  // clang-format on
};

/// The loop as `Learner::explain` prints it. A line is an event or an action between two events.
inline constexpr std::string_view kLoop = R"(train_begin
for each epoch:
  epoch_begin
  for each training batch:
    batch_begin
    pred = model(x)
    loss_begin
    loss = loss_fn(pred, y)
    backward_begin
    backward pass
    backward_end
    step_begin
    optimizer step
    step_end
    batch_end
  validate_begin
  for each validation batch:
    batch_begin
    pred = model(x)
    loss_begin
    loss = loss_fn(pred, y)
    batch_end
  validate_end
  epoch_end
train_end
at any time:
  cancelled
  error
)";

/// A bracketed stretch of the loop: train > epoch > {batch > step, validate > batch}.
enum class Scope : std::uint8_t { train, epoch, batch, step, validate };

enum class EventRole : std::uint8_t { opens, inside, closes };

/// A row of the table.
struct EventInfo {
  Event event;
  std::string_view name;
  EventRole role;
  Scope scope;
};
inline constexpr std::array kEventTable{
#define LEARN_ROW(name, role, scope) EventInfo{Event::name, #name, EventRole::role, Scope::scope},
    LEARN_EVENTS(LEARN_ROW)
#undef LEARN_ROW
};

/// The number of all events, including `cancelled` and `error`.
inline constexpr std::size_t kEventCount = kEventTable.size() + 2;

[[nodiscard]] constexpr std::size_t index_of(Event event) noexcept {
  return static_cast<std::size_t>(event);
}

[[nodiscard]] constexpr std::string_view name_of(Event event) noexcept {
  if (event == Event::cancelled) return "cancelled";
  return event == Event::error ? "error" : kEventTable[index_of(event)].name;
}

[[nodiscard]] constexpr std::string_view name_of(Scope scope) noexcept {
  switch (scope) {
    case Scope::train:
      return "train";
    case Scope::epoch:
      return "epoch";
    case Scope::batch:
      return "batch";
    case Scope::step:
      return "step";
    case Scope::validate:
      return "validate";
  }
  return "?";
}

}  // namespace learn
