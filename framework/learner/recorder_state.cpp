// The recorder's history in a checkpoint: one table of numbers each for batches and epochs.
#include "framework/core/error.h"
#include "framework/learner/recorder.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <span>
#include <sstream>

namespace learn {
namespace {

/// Rows of `columns` numbers, one after the other.
using Numbers = std::vector<double>;

void visit_table(StateVisitor& visitor,
                 std::string_view name,
                 std::size_t columns,
                 Numbers& numbers) {
  constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;
  const StateVisitor::Scope scope(visitor, name);
  auto rows = static_cast<std::int64_t>(numbers.size() / columns);
  visitor.visit("rows", rows);
  check<CheckpointError>(
      rows >= 0 && rows <= kMaxRows, "the recorder's history of {} rows is damaged", rows);
  numbers.resize(static_cast<std::size_t>(rows) * columns);
  if (rows == 0) return;
  Tensor table = host_tensor<double>({rows, static_cast<std::int64_t>(columns)}, numbers);
  visitor.visit("table", table);
  const auto loaded = table.span<double>();
  std::copy(loaded.begin(), loaded.end(), numbers.begin());
}

constexpr std::size_t kBatchColumns = 7;

Numbers numbers_of(std::span<const BatchRecord> batches) {
  Numbers out;
  out.reserve(batches.size() * kBatchColumns);
  for (const BatchRecord& b : batches)
    out.insert(out.end(),
               {static_cast<double>(b.batch),
                b.epoch,
                b.loss,
                b.smooth_loss,
                static_cast<double>(b.lr),
                static_cast<double>(b.momentum),
                static_cast<double>(b.loss_scale)});
  return out;
}

std::vector<BatchRecord> batches_of(const Numbers& numbers) {
  std::vector<BatchRecord> out;
  for (auto row = numbers.begin(); row != numbers.end(); row += kBatchColumns)
    out.push_back({.batch = static_cast<std::int64_t>(row[0]),
                   .epoch = row[1],
                   .loss = row[2],
                   .smooth_loss = row[3],
                   .lr = static_cast<float>(row[4]),
                   .momentum = static_cast<float>(row[5]),
                   .loss_scale = static_cast<float>(row[6])});
  return out;
}

constexpr std::size_t kEpochColumns = 6;  // and one for each metric

Numbers numbers_of(const std::vector<EpochRecord>& epochs) {
  Numbers out;
  for (const EpochRecord& e : epochs) {
    out.insert(out.end(),
               {static_cast<double>(e.epoch),
                e.train_loss,
                e.valid_loss,
                static_cast<double>(e.lr),
                e.seconds,
                e.samples_per_second});
    for (const auto& [name, value] : e.metrics) out.push_back(value);
  }
  return out;
}

std::vector<EpochRecord> epochs_of(const Numbers& numbers, const std::vector<std::string>& names) {
  std::vector<EpochRecord> out;
  for (auto row = numbers.begin(); row != numbers.end();) {
    out.push_back({.epoch = static_cast<std::int64_t>(row[0]),
                   .train_loss = row[1],
                   .valid_loss = row[2],
                   .lr = static_cast<float>(row[3]),
                   .seconds = row[4],
                   .samples_per_second = row[5]});
    row += kEpochColumns;
    for (const std::string& name : names) out.back().metrics.emplace_back(name, *row++);
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

void Recorder::visit_state(StateVisitor& visitor) {
  visitor.visit("weighted_sum", weighted_sum_);
  visitor.visit("weight", weight_);
  visitor.visit("cut_seconds", cut_seconds_);
  visitor.visit("images", samples_);  // as the checkpoints that there are have it

  Numbers batches = numbers_of(std::span(batches_).first(read_));
  visit_table(visitor, "batches", kBatchColumns, batches);

  // All epochs of a learner have the same metrics.
  std::string metrics;
  if (!epochs_.empty())
    for (const auto& [name, value] : epochs_.front().metrics) metrics += name + '\n';
  visitor.visit("metrics", metrics);
  const std::vector<std::string> names = lines_of(metrics);
  Numbers epochs = numbers_of(epochs_);
  visit_table(visitor, "epochs", kEpochColumns + names.size(), epochs);
  if (!visitor.loading()) return;
  batches_ = batches_of(batches);
  epochs_ = epochs_of(epochs, names);
  read_ = batches_.size();
  finished_ = false;
}

}  // namespace learn
