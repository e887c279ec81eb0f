#include "framework/runs/run_record.h"

#include "framework/io/json_text.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace learn {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity and no NaN: null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const RunRecord::Steps& steps) {
  Json records = Json::array();
  for (const auto& [batch, event, before, after] : steps.records)
    records.push_back({{"batch", batch},
                       {"event", event},
                       {"loss_scale_before", number(before)},
                       {"loss_scale_after", number(after)}});
  return {{"applied", steps.applied},
          {"skipped", steps.skipped},
          {"loss_scale", number(steps.loss_scale)},
          {"records", records}};
}

Json to_json(const RunRecord& record) {
  Json best = nullptr;
  if (record.best)
    best = {{"metric", record.best->metric},
            {"value", number(record.best->value)},
            {"epoch", record.best->epoch}};
  Json resumes = Json::array();
  for (const auto& [at, argv, precision] : record.resumes)
    resumes.push_back({{"at", at}, {"argv", argv}, {"precision", precision}});
  Json results = Json::object();
  for (const auto& [name, value] : record.results) results[name] = number(value);
  return {{"status", record.status},
          {"exit_code", record.exit_code},
          {"error", record.error},
          {"argv", record.argv},
          {"versions", record.versions},
          {"machine", record.machine},
          {"seed", record.seed},
          {"device", record.device},
          {"threads", record.threads},
          {"precision", record.precision},
          {"peak_lr", number(record.peak_lr)},
          {"model", {{"name", record.model}, {"parameters", record.parameters}}},
          {"dataset",
           {{"name", record.dataset},
            {"synthetic", record.synthetic},
            {"fingerprint", record.fingerprint},
            {"train_samples", record.train_samples},
            {"valid_samples", record.valid_samples}}},
          {"started", record.started},
          {"resumes", resumes},
          {"ended", record.ended},
          {"epochs", record.epochs},
          {"epochs_done", record.epochs_done},
          {"best", best},
          {"results", results},
          {"steps", to_json(record.steps)}};
}

}  // namespace

std::string run_record_text(const RunRecord& record) {
  return json_text(to_json(record), 2) + '\n';
}

}  // namespace learn
