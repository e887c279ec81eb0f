#include "framework/learner/history/epoch_history.h"

#include "framework/core/format.h"
#include "framework/core/round_up.h"
#include "framework/learner/state_table.h"

#include <algorithm>
#include <limits>

namespace learn {
namespace {

/// Keeps every `stride`-th of `count` epochs, and the last.
std::int64_t stride_of(std::int64_t count) {
  std::int64_t stride = 1;
  while (ceil_div(count, stride) > EpochHistory::kCapacity) stride *= 2;
  return stride;
}

constexpr std::size_t kColumns = 8;  // and one for each metric
constexpr RealLimits kSkipped{.high = static_cast<double>(IntegerLimits::kMax)};
constexpr RealLimits kEpoch{.low = 1, .high = static_cast<double>(IntegerLimits::kMax)};

/// The names of all metrics, in the order in which they came.
std::vector<std::string> names_of(const std::vector<EpochRecord>& records) {
  std::vector<std::string> names;
  for (const EpochRecord& record : records)
    for (const auto& [name, value] : record.metrics)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::vector<double> numbers_of(const std::vector<EpochRecord>& records,
                               const std::vector<std::string>& names) {
  std::vector<double> out;
  for (const EpochRecord& r : records) {
    out.insert(out.end(),
               {static_cast<double>(r.epoch),
                r.train_loss,
                r.valid_loss,
                static_cast<double>(r.lr),
                r.seconds,
                r.samples_per_second,
                static_cast<double>(r.skipped),
                static_cast<double>(r.loss_scale)});
    for (const std::string& name : names) {
      const auto found = std::find_if(r.metrics.begin(), r.metrics.end(), [&](const auto& metric) {
        return metric.first == name;
      });
      out.push_back(found == r.metrics.end() ? std::numeric_limits<double>::quiet_NaN()
                                             : found->second);
    }
  }
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

void EpochHistory::add(EpochRecord epoch) {
  const std::int64_t before = stride_of(count_);
  const std::int64_t now = stride_of(count_ + 1);
  // The last one may have been there only because it was the last.
  if (count_ % now != 0) records_.pop_back();
  if (now != before) {
    std::int64_t place = 0;
    std::erase_if(records_, [&](const EpochRecord&) { return ++place % 2 != 0; });
  }
  records_.push_back(std::move(epoch));
  ++count_;
}

void EpochHistory::visit_state(StateVisitor& visitor) {
  constexpr std::int64_t kMaxMetrics = 1000;
  std::string metrics = joined(names_of(records_));
  visitor.visit("metrics", metrics);
  const std::vector<std::string> names = lines_of(metrics);
  visitor.check_loaded(
      "metrics", static_cast<std::int64_t>(names.size()), IntegerLimits{.high = kMaxMetrics});
  std::vector<double> numbers = numbers_of(records_, names);
  const std::size_t columns = kColumns + names.size();
  visit_table(visitor, "epochs", columns, kCapacity, numbers);
  const auto rows = static_cast<std::int64_t>(numbers.size() / columns);
  visitor.visit("epochs_seen", count_, {.low = rows});
  if (!visitor.loading()) return;
  const std::int64_t kept = ceil_div(count_, stride_of(count_));
  visitor.check_loaded("epochs.rows", rows, IntegerLimits{.low = kept, .high = kept});
  records_.clear();
  for (auto row = numbers.begin(); row != numbers.end();) {
    visitor.check_loaded("epochs.table", row[0], kEpoch);
    visitor.check_loaded("epochs.table", row[3], kFloatLimits);
    visitor.check_loaded("epochs.table", row[6], kSkipped);
    visitor.check_loaded("epochs.table", row[7], kFloatLimits);
    records_.push_back({.epoch = static_cast<std::int64_t>(row[0]),
                        .train_loss = row[1],
                        .valid_loss = row[2],
                        .metrics = {},
                        .lr = static_cast<float>(row[3]),
                        .seconds = row[4],
                        .samples_per_second = row[5],
                        .skipped = static_cast<std::int64_t>(row[6]),
                        .loss_scale = static_cast<float>(row[7])});
    row += kColumns;
    for (const std::string& name : names) records_.back().metrics.emplace_back(name, *row++);
  }
}

}  // namespace learn
