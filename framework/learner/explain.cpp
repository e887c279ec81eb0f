// The loop with its listeners, as text, from the table that dispatches.
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <array>

namespace learn {
namespace {

/// A line of the loop: an event, or what happens between two.
struct Line {
  int depth;
  std::string_view text;  ///< empty: the event's name
  Event event = Event::error;
};

constexpr std::array kLoop{
    Line{0, "", Event::train_begin},
    Line{0, "for each epoch:"},
    Line{1, "", Event::epoch_begin},
    Line{1, "for each training batch:"},
    Line{2, "", Event::batch_begin},
    Line{2, "pred = model(x)"},
    Line{2, "", Event::loss_begin},
    Line{2, "loss = loss_fn(pred, y)"},
    Line{2, "", Event::backward_begin},
    Line{2, "backward pass"},
    Line{2, "", Event::backward_end},
    Line{2, "", Event::step_begin},
    Line{2, "optimizer step"},
    Line{2, "", Event::step_end},
    Line{2, "", Event::batch_end},
    Line{1, "", Event::validate_begin},
    Line{1, "for each validation batch:"},
    Line{2, "", Event::batch_begin},
    Line{2, "pred = model(x)"},
    Line{2, "", Event::loss_begin},
    Line{2, "loss = loss_fn(pred, y)"},
    Line{2, "", Event::batch_end},
    Line{1, "", Event::validate_end},
    Line{1, "", Event::epoch_end},
    Line{0, "", Event::train_end},
    Line{0, "at any time:"},
    Line{1, "", Event::cancelled},
    Line{1, "", Event::error},
};

}  // namespace

std::string Learner::explain() const {
  std::string out;
  for (const Line& line : kLoop) {
    const std::string indent(static_cast<std::size_t>(2 * line.depth), ' ');
    if (!line.text.empty()) {
      out += fmt::format("{}{}\n", indent, line.text);
      continue;
    }
    std::string names;
    for (const Callback* callback : listeners(line.event))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", callback->name());
    const std::string event = indent + std::string(name_of(line.event));
    out += names.empty() ? event + "\n" : fmt::format("{:<22}{}\n", event, names);
  }
  return out;
}

}  // namespace learn
