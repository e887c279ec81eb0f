// A recorder's data are bounded, lose nothing that a plot would show, and depend only on the
// training.
#include "framework/learner/history/batch_history.h"
#include "framework/learner/history/epoch_history.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

using namespace learn;

namespace {

/// A loss with a spike now and then.
double loss_of(std::int64_t batch) {
  return batch % 997 == 0 ? 50.0 : 2 + std::sin(static_cast<double>(batch));
}

BatchRecord batch_record(std::int64_t batch) {
  const double loss = loss_of(batch);
  return {.batch = batch,
          .epoch = static_cast<double>(batch) / 100,
          .loss = loss,
          .lowest_loss = loss,
          .highest_loss = loss,
          .smooth_loss = 3 - 1e-5 * static_cast<double>(batch),
          .lr = 0.5F / static_cast<float>(batch),
          .momentum = 0.9F,
          .loss_scale = 2,
          .skipped = batch % 10 == 0 ? 1 : 0,
          .grad_norm = batch % 10 == 0 ? NAN : 4,
          .update_ratio = batch % 3 == 0 ? NAN : loss};
}

EpochRecord epoch_record(std::int64_t epoch) {
  return {.epoch = epoch,
          .train_loss = 1 / static_cast<double>(epoch),
          .valid_loss = 2,
          .metrics = {{"accuracy", 0.25}},
          .lr = 0.5F,
          .seconds = 3,
          .samples_per_second = 4,
          .skipped = epoch % 3,
          .loss_scale = 8};
}

std::map<std::string, std::vector<double>> numbers_in(const test::MemoryState& state) {
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, tensor] : state.tensors)
    out[name].assign(tensor.span<double>().begin(), tensor.span<double>().end());
  for (const auto& [name, value] : state.integers) out[name] = {static_cast<double>(value)};
  return out;
}

/// All numbers of a checkpoint of it.
template <class History>
std::map<std::string, std::vector<double>> numbers_of(History& history) {
  test::MemoryState state;
  test::MemorySaver saver(state);
  history.visit_state(saver);
  return numbers_in(state);
}

/// Continues through a checkpoint.
template <class History>
History reloaded(History& history) {
  test::MemoryState state;
  test::MemorySaver saver(state);
  history.visit_state(saver);
  History other;
  test::MemoryLoader loader(state);
  other.visit_state(loader);
  return other;
}

}  // namespace

TEST_CASE("batches: a record each, then neighbours share one, and the losses keep their range") {
  constexpr auto kCapacity = static_cast<std::int64_t>(BatchHistory::kCapacity);
  BatchHistory history;
  for (std::int64_t batch = 1; batch <= 50'000; ++batch) {
    history.add(batch_record(batch));
    const auto& records = history.records();
    const auto count = static_cast<std::int64_t>(records.size());
    REQUIRE(count <= kCapacity);
    if (batch <= kCapacity) REQUIRE(count == batch);
    if (batch > kCapacity) REQUIRE(count >= kCapacity / 2);
    REQUIRE(records.back().batch == batch);
    REQUIRE(records.back().smooth_loss == batch_record(batch).smooth_loss);
    if (batch % 10'007 != 0 && batch != kCapacity + 1 && batch != 50'000) continue;
    std::int64_t first = 1;
    for (const BatchRecord& record : records) {
      REQUIRE(record.batch - record.merged + 1 == first);
      double sum = 0;
      double lowest = INFINITY;
      double highest = -INFINITY;
      std::int64_t skipped = 0;
      for (std::int64_t i = first; i <= record.batch; ++i) {
        sum += loss_of(i);
        lowest = std::min(lowest, loss_of(i));
        highest = std::max(highest, loss_of(i));
        skipped += batch_record(i).skipped;
      }
      REQUIRE(record.skipped == skipped);
      REQUIRE((record.grad_norm == 4 || record.merged == 1));
      REQUIRE(record.lowest_loss == lowest);
      REQUIRE(record.highest_loss == highest);
      // Sums in another order.
      REQUIRE(record.loss ==
              doctest::Approx(sum / static_cast<double>(record.merged)).epsilon(1e-12));
      REQUIRE(record.epoch == static_cast<double>(record.batch) / 100);
      first = record.batch + 1;
    }
    REQUIRE(first == batch + 1);
  }
}

TEST_CASE("batches: losses that are not finite are left out of the mean and the range") {
  BatchHistory history;
  for (std::int64_t batch = 1; batch <= std::int64_t{2} * 2048; ++batch) {
    BatchRecord record = batch_record(batch);
    if (batch % 4 == 1) record.loss = record.lowest_loss = record.highest_loss = NAN;
    history.add(record);
  }
  for (const BatchRecord& record : history.records()) {
    REQUIRE(record.merged == 2);
    if (record.batch % 4 != 2) continue;
    REQUIRE(record.loss == loss_of(record.batch));
    REQUIRE(record.highest_loss == loss_of(record.batch));
  }
}

TEST_CASE("a history that was saved and loaded continues as one that was not") {
  BatchHistory straight;
  BatchHistory stopped;
  for (std::int64_t batch = 1; batch <= 9000; ++batch) {
    straight.add(batch_record(batch));
    stopped.add(batch_record(batch));
    if (batch % 500 == 0 || batch % 2048 < 3) stopped = reloaded(stopped);
  }
  CHECK(numbers_of(stopped) == numbers_of(straight));
  EpochHistory all;
  EpochHistory cut;
  for (std::int64_t epoch = 1; epoch <= 5000; ++epoch) {
    all.add(epoch_record(epoch));
    cut.add(epoch_record(epoch));
    if (epoch % 500 == 0 || epoch % 1024 < 3) cut = reloaded(cut);
  }
  CHECK(numbers_of(cut) == numbers_of(all));
  CHECK(cut.records().back().metrics == all.records().back().metrics);
}

TEST_CASE("epochs: all of them, then every second, always the last") {
  EpochHistory history;
  for (std::int64_t epoch = 1; epoch <= 5000; ++epoch) {
    history.add(epoch_record(epoch));
    const auto& records = history.records();
    REQUIRE(history.count() == epoch);
    REQUIRE(records.back().epoch == epoch);
    REQUIRE(static_cast<std::int64_t>(records.size()) <= EpochHistory::kCapacity);
    if (epoch <= EpochHistory::kCapacity)
      REQUIRE(static_cast<std::int64_t>(records.size()) == epoch);
  }
  for (std::size_t i = 0; i + 1 < history.records().size(); ++i)
    REQUIRE(history.records()[i].epoch == 8 * static_cast<std::int64_t>(i + 1));
}

TEST_CASE("a metric that an epoch did not have comes back as NaN") {
  EpochHistory history;
  history.add(epoch_record(1));
  EpochRecord late = epoch_record(2);
  late.metrics.insert(late.metrics.begin(), {"late", 7.0});
  history.add(late);
  const EpochHistory back = reloaded(history);
  REQUIRE(back.records().at(0).metrics.size() == 2);
  CHECK(back.records()[0].metrics[0].second == 0.25);
  CHECK(back.records()[0].metrics[1].first == "late");
  CHECK(std::isnan(back.records()[0].metrics[1].second));
  CHECK(back.records()[1].metrics[1].second == 7);
}

TEST_CASE("an impossible history is refused before memory is allocated for it") {
  EpochHistory epochs;
  BatchHistory batches;
  for (std::int64_t i = 1; i <= 3000; ++i) epochs.add(epoch_record(i));
  for (std::int64_t i = 1; i <= 3000; ++i) batches.add(batch_record(i));
  const auto refused = [](auto& history, const auto& change) {
    test::MemoryState state;
    test::MemorySaver saver(state);
    history.visit_state(saver);
    change(state);
    std::remove_reference_t<decltype(history)> other;
    test::MemoryLoader loader(state);
    CHECK_THROWS_AS(other.visit_state(loader), CheckpointError);
  };
  for (const std::int64_t rows : {std::int64_t{-1}, std::int64_t{1} << 30, INT64_MIN, INT64_MAX}) {
    refused(batches, [&](test::MemoryState& s) { s.integers.at("batches.rows") = rows; });
    refused(epochs, [&](test::MemoryState& s) { s.integers.at("epochs.rows") = rows; });
    refused(epochs, [&](test::MemoryState& s) { s.integers.at("epochs_seen") = rows; });
  }
  refused(epochs,
          [&](test::MemoryState& s) { s.texts.at("metrics") = std::string(1'000'000, '\n'); });
  for (const double bad : {-1.0, 0.0, 1e300, static_cast<double>(NAN)})
    for (const std::size_t column : {std::size_t{0}, std::size_t{1}})
      refused(batches, [&](test::MemoryState& s) {
        s.tensors.at("batches.table").span<double>()[13 + column] = bad;
      });
}
