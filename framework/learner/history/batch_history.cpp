#include "framework/learner/history/batch_history.h"

#include "framework/learner/state_table.h"

#include <algorithm>
#include <cmath>

namespace learn {
namespace {

/// The mean of what may not be there, weighted by batches.
double mean_of(double a, std::int64_t batches_a, double b, std::int64_t batches_b) {
  if (!std::isfinite(a)) return b;
  if (!std::isfinite(b)) return a;
  const auto weight_a = static_cast<double>(batches_a);
  const auto weight_b = static_cast<double>(batches_b);
  return (weight_a * a + weight_b * b) / (weight_a + weight_b);
}

/// `a` and `b`, which followed it, as one.
BatchRecord merged(const BatchRecord& a, const BatchRecord& b) {
  BatchRecord both = b;
  both.merged = a.merged + b.merged;
  both.skipped = a.skipped + b.skipped;
  both.grad_norm = mean_of(a.grad_norm, a.merged, b.grad_norm, b.merged);
  both.update_ratio = mean_of(a.update_ratio, a.merged, b.update_ratio, b.merged);
  if (!std::isfinite(a.loss)) return both;
  const auto weight_a = static_cast<double>(a.merged);
  const auto weight_b = std::isfinite(b.loss) ? static_cast<double>(b.merged) : 0;
  const double loss_b = weight_b > 0 ? b.loss : 0;
  both.loss = (weight_a * a.loss + weight_b * loss_b) / (weight_a + weight_b);
  both.lowest_loss = weight_b > 0 ? std::min(a.lowest_loss, b.lowest_loss) : a.lowest_loss;
  both.highest_loss = weight_b > 0 ? std::max(a.highest_loss, b.highest_loss) : a.highest_loss;
  return both;
}

constexpr std::size_t kColumns = 13;
constexpr RealLimits kCount{.low = 1, .high = static_cast<double>(IntegerLimits::kMax)};

/// In a checkpoint, whose numbers are compared, an unknown norm is a number, too.
constexpr double kUnknown = -1;
constexpr RealLimits kNorm{.low = kUnknown};
double number_of(double norm) { return std::isfinite(norm) ? norm : kUnknown; }
double norm_of(double number) {
  return number < 0 ? std::numeric_limits<double>::quiet_NaN() : number;
}

std::vector<double> numbers_of(const std::vector<BatchRecord>& records) {
  std::vector<double> out;
  out.reserve(records.size() * kColumns);
  for (const BatchRecord& r : records)
    out.insert(out.end(),
               {static_cast<double>(r.batch),
                static_cast<double>(r.merged),
                r.epoch,
                r.loss,
                r.lowest_loss,
                r.highest_loss,
                r.smooth_loss,
                static_cast<double>(r.lr),
                static_cast<double>(r.momentum),
                static_cast<double>(r.loss_scale),
                static_cast<double>(r.skipped),
                number_of(r.grad_norm),
                number_of(r.update_ratio)});
  return out;
}

}  // namespace

void BatchHistory::add(const BatchRecord& batch) {
  if (!records_.empty() && records_.back().merged < records_.front().merged) {
    records_.back() = merged(records_.back(), batch);
    return;
  }
  if (records_.size() == kCapacity) {
    for (std::size_t i = 0; i < kCapacity / 2; ++i)
      records_[i] = merged(records_[2 * i], records_[2 * i + 1]);
    records_.resize(kCapacity / 2);
  }
  records_.push_back(batch);
}

void BatchHistory::visit_state(StateVisitor& visitor) {
  std::vector<double> numbers = numbers_of(records_);
  visit_table(visitor, "batches", kColumns, kCapacity, numbers);
  if (!visitor.loading()) return;
  const auto checked = [&](double value, const RealLimits& limits) {
    visitor.check_loaded("batches.table", value, limits);
    return value;
  };
  records_.clear();
  for (auto row = numbers.begin(); row != numbers.end(); row += kColumns)
    records_.push_back({.batch = static_cast<std::int64_t>(checked(row[0], kCount)),
                        .merged = static_cast<std::int64_t>(checked(row[1], kCount)),
                        .epoch = row[2],
                        .loss = row[3],
                        .lowest_loss = row[4],
                        .highest_loss = row[5],
                        .smooth_loss = row[6],
                        .lr = static_cast<float>(checked(row[7], kFloatLimits)),
                        .momentum = static_cast<float>(checked(row[8], kFloatLimits)),
                        .loss_scale = static_cast<float>(checked(row[9], kFloatLimits)),
                        .skipped = static_cast<std::int64_t>(checked(row[10], {.high = row[1]})),
                        .grad_norm = norm_of(checked(row[11], kNorm)),
                        .update_ratio = norm_of(checked(row[12], kNorm))});
  for (const BatchRecord& r : records_)
    visitor.check_loaded("batches.table",
                         r.merged,
                         IntegerLimits{.low = &r == &records_.back() ? 1 : records_.front().merged,
                                       .high = records_.front().merged});
}

}  // namespace learn
