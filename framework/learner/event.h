#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
  train_begin,
  epoch_begin,
  batch_begin,
  loss_begin,
  backward_begin,
  backward_end,
  step_begin,
  step_end,
  batch_end,
  validate_begin,
  validate_end,
  epoch_end,
  train_end,
  cancelled,
  error,
};
inline constexpr std::size_t kEventCount = static_cast<std::size_t>(Event::error) + 1;

[[nodiscard]] constexpr std::string_view name_of(Event event) noexcept {
  constexpr std::array<std::string_view, kEventCount> kNames{"train_begin",
                                                             "epoch_begin",
                                                             "batch_begin",
                                                             "loss_begin",
                                                             "backward_begin",
                                                             "backward_end",
                                                             "step_begin",
                                                             "step_end",
                                                             "batch_end",
                                                             "validate_begin",
                                                             "validate_end",
                                                             "epoch_end",
                                                             "train_end",
                                                             "cancelled",
                                                             "error"};
  return kNames[static_cast<std::size_t>(event)];
}

/// A bracketed stretch of the loop: train > epoch > {batch > step, validate > batch}.
enum class Scope : std::uint8_t { train, epoch, batch, step, validate };

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
