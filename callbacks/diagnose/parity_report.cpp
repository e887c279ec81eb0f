// A parity audit as text and as a file.
#include "callbacks/diagnose/parity_audit.h"
#include "framework/core/nan_sign.h"
#include "framework/io/csv.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace learn::callbacks {
namespace {

constexpr double kFullRate = 0.9;
constexpr double kManyRoundings = 0.25;

std::string cell(double share) {
  if (share == 0) return "0";
  if (std::isnan(share)) return "-";
  return std::isinf(share) ? "inf" : percent(share);
}

std::string_view name_of(ParityProblem problem) {
  switch (problem) {
    case ParityProblem::values:
      return "values";
    case ParityProblem::rate:
      return "rate";
    case ParityProblem::overflow:
      return "overflow";
    case ParityProblem::gradient_overflow:
      return "gradients overflow";
    case ParityProblem::underflow:
      return "underflow";
    case ParityProblem::update_grows:
      return "update grows";
    case ParityProblem::update_lost:
      return "update lost";
    case ParityProblem::rounding:
      return "rounding";
  }
  return "?";
}

/// The layer of a step with the largest error of a kind; empty if nothing was compared.
struct Worst {
  bool compared = false;
  double error = 0;
  std::string layer;
};

template <class Kind>
Worst worst_of(const ParityStep& step, Kind kind) {
  Worst worst;
  for (const ParityLayer& layer : step.layers) {
    const ParityError& error = std::invoke(kind, layer);
    if (!error.compared() || std::isnan(error.error)) continue;
    worst.compared = true;
    if (error.error > worst.error) worst = {true, error.error, layer.path};
  }
  return worst;
}

std::string text_of(const Worst& worst) {
  if (!worst.compared) return "-";
  return worst.layer.empty() ? "0" : fmt::format("{}, {}", cell(worst.error), worst.layer);
}

/// Returns the largest share of a kind in any step, for a layer.
template <class Kind, class Share>
double most(const ParityAudit& audit, std::size_t layer, Kind kind, Share share) {
  double found = 0;
  for (const ParityStep& step : audit.steps)
    if (layer < step.layers.size())
      found = std::max(found, share(std::invoke(kind, step.layers[layer])));
  return found;
}

/// Returns whether errors exceed a single rounding.
bool grown(const ParityStep& step) {
  return worst_of(step, &ParityLayer::activation).error > kManyRoundings ||
         worst_of(step, &ParityLayer::weights).error > kManyRoundings;
}

template <class Kind>
void add_cells(std::vector<std::string>& cells,
               const ParityAudit& audit,
               std::size_t layer,
               Kind kind) {
  const ParityError& first = std::invoke(kind, audit.steps.front().layers[layer]);
  if (!first.compared()) {
    cells.insert(cells.end(), 3, "");
    return;
  }
  cells.push_back(cell(first.error));
  cells.push_back(cell(most(audit, layer, kind, [](const ParityError& e) { return e.overflow; })));
  cells.push_back(
      cell(most(audit, layer, kind, [](const ParityError& e) { return e.zero + e.subnormal; })));
}

std::string layers_table(const ParityAudit& audit) {
  using enum TextTable::Align;
  TextTable table({{"layer"},
                   {"type"},
                   {"output"},
                   {"activations", right},
                   {"overflow", right},
                   {"underflow", right},
                   {"gradients", right},
                   {"overflow", right},
                   {"underflow", right},
                   {"of weights", right},
                   {"overflow", right},
                   {"underflow", right},
                   {""}});
  const std::vector<ParityLayer>& layers = audit.steps.front().layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ParityLayer& layer = layers[i];
    std::vector<std::string> cells{layer.path,
                                   layer.text.substr(0, layer.text.find_first_of("(: ")),
                                   layer.activation.compared() ? learn::name_of(layer.dtype) : ""};
    add_cells(cells, audit, i, &ParityLayer::activation);
    add_cells(cells, audit, i, &ParityLayer::gradient);
    add_cells(cells, audit, i, &ParityLayer::weights);
    for (const ParityFinding& finding : audit.findings)
      if (finding.layer == layer.path)
        cells.emplace_back("<- " + std::string(name_of(finding.problem)));
    table.row(std::move(cells));
  }
  return table.to_string();
}

std::string steps_table(const ParityAudit& audit) {
  using enum TextTable::Align;
  TextTable table({{"step", right},
                   {"rate", right},
                   {"loss in fp32", right},
                   {"in " + audit.precision, right},
                   {"loss scale", right},
                   {"update"},
                   {"activations, worst"},
                   {"gradients, worst"},
                   {"gradients of weights, worst"}});
  for (std::size_t i = 0; i < audit.steps.size(); ++i) {
    const ParityStep& step = audit.steps[i];
    table.row({std::to_string(i + 1),
               fmt::format("{:.3g}", step.lr),
               fmt::format("{:.5g}", without_nan_sign(step.loss_full)),
               fmt::format("{:.5g}", without_nan_sign(step.loss_half)),
               fmt::format("{}", step.loss_scale),
               step.applied_half ? "yes" : "no",
               text_of(worst_of(step, &ParityLayer::activation)),
               text_of(worst_of(step, &ParityLayer::gradient)),
               text_of(worst_of(step, &ParityLayer::weights))});
  }
  return table.to_string();
}

}  // namespace

std::string ParityAudit::verdict() const {
  if (steps.empty()) return "nothing to compare: no step was made\n";
  if (healthy()) {
    const ParityStep& last = steps.back();
    const double highest = std::ranges::max(steps, {}, &ParityStep::lr).lr;
    std::string text = fmt::format(
        "fine: in {} this training behaves as in fp32. In the first step activations differ by up "
        "to {}, gradients by up to {}. After {} steps the losses differ by {}, and the weights by "
        "{} of their change in fp32.\n",
        precision,
        cell(worst_of(steps.front(), &ParityLayer::activation).error),
        cell(worst_of(steps.front(), &ParityLayer::weights).error),
        steps.size(),
        cell(std::fabs(last.loss_half - last.loss_full) / std::fabs(last.loss_full)),
        cell(departure));
    if (const auto skipped = std::ranges::count_if(
            steps, [](const ParityStep& s) { return s.applied_full && !s.applied_half; });
        skipped > 0)
      text += fmt::format(
          "{} of the steps were skipped while the loss scale was adjusted; after these both "
          "trainings differ.\n",
          skipped);
    if (departure > 1)
      text +=
          "The weights differ by more than their change in fp32: run more steps to see how this "
          "develops.\n";
    if (std::ranges::none_of(steps, &ParityStep::applied_full))
      text +=
          "No update was made, because gradients are accumulated over more batches: run more "
          "steps.\n";
    if (grown(steps.front()))
      text +=
          "Errors grow from layer to layer, because the net amplifies rounding errors; no single "
          "layer causes them.\n";
    if (highest < kFullRate * lr)
      text += fmt::format(
          "These steps had learning rates up to {:.3g}, but the training reaches {:.3g} later: run "
          "more steps to include it.\n",
          highest,
          lr);
    return text;
  }
  std::string text;
  for (const ParityFinding& finding : findings)
    text += fmt::format("{}, in step {}: {}.\nWhat helps: {}.\n",
                        name_of(finding.problem),
                        finding.step,
                        finding.text,
                        finding.advice);
  return text;
}

std::string ParityAudit::to_string() const {
  if (steps.empty()) return verdict();
  std::string text = layers_table(*this);
  text += "errors of the first step, from equal state; the largest shares of all steps\n\n";
  text += steps_table(*this);
  if (warm_up > 0 && scale_found)
    text += fmt::format("the loss scale was adjusted before, in {} skipped steps\n", warm_up);
  return text + "\n" + verdict();
}

void ParityAudit::write_csv(const std::filesystem::path& path) const {
  std::vector<std::string> header{
      "step", "lr", "loss_fp32", "loss_half", "loss_scale", "applied", "layer", "module", "dtype"};
  for (const std::string_view what : {"activation", "gradient", "weights", "update"})
    for (const std::string_view number :
         {"error", "size", "cosine", "overflow", "zero", "subnormal", "largest", "root_mean"})
      header.push_back(fmt::format("{}_{}", what, number));
  CsvWriter file(path, header);
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (const ParityLayer& layer : steps[i].layers) {
      std::vector<Cell> row{static_cast<double>(i + 1),
                            steps[i].lr,
                            steps[i].loss_full,
                            steps[i].loss_half,
                            static_cast<double>(steps[i].loss_scale),
                            steps[i].applied_half ? "yes" : "no",
                            layer.path,
                            layer.text,
                            learn::name_of(layer.dtype)};
      for (const ParityError* const e :
           {&layer.activation, &layer.gradient, &layer.weights, &layer.update})
        for (const double value : {e->error,
                                   e->size,
                                   e->cosine,
                                   e->overflow,
                                   e->zero,
                                   e->subnormal,
                                   e->largest,
                                   e->root_mean})
          if (e->compared())
            row.emplace_back(value);
          else
            row.emplace_back();
      rows.push_back(std::move(row));
    }
  file.rows(rows);
}

}  // namespace learn::callbacks
