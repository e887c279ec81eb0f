#include "tests/support/rank_threads.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace learn::testing {
namespace {

enum class Kind : std::uint8_t { sum, gather, broadcast };

/// One collective: what each rank has brought, and its result when all have.
struct Meeting {
  struct Seat {
    bool taken = false;
    Tensor values{};
    std::span<const std::byte> given{};
    std::span<std::byte> wanted{};
    std::string purpose{};
  };
  Kind kind = Kind::sum;
  std::vector<std::size_t> sizes{};  // by which calls are compared
  std::vector<Seat> seats{};
  std::size_t came = 0;
  bool done = false;
};

double sum_of(double a, double b) { return a + b; }
float sum_of(float a, float b) { return a + b; }
Half sum_of(Half a, Half b) { return to_half(to_float(a) + to_float(b)); }
BFloat16 sum_of(BFloat16 a, BFloat16 b) { return to_bfloat16(to_float(a) + to_float(b)); }

template <class T>
void add_up(const std::vector<Meeting::Seat>& seats) {
  const auto first = seats.front().values.span<T>();
  std::vector<T> sum(first.begin(), first.end());
  for (std::size_t r = 1; r < seats.size(); ++r)
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] = sum_of(sum[i], seats[r].values.span<T>()[i]);
  for (const Meeting::Seat& seat : seats) {
    Tensor values = seat.values;
    std::ranges::copy(sum, values.span<T>().begin());
  }
}

struct Group {
  Group(int count, std::chrono::milliseconds time)
      : ranks(static_cast<std::size_t>(count)), deadline(time) {}

  void carry_out(Meeting& meeting) {
    switch (meeting.kind) {
      case Kind::sum:
        visit_floating(meeting.seats.front().values.dtype(),
                       [&]<class T>() { add_up<T>(meeting.seats); });
        break;
      case Kind::gather:
        for (const Meeting::Seat& to : meeting.seats) {
          auto at = to.wanted.begin();
          for (const Meeting::Seat& from : meeting.seats)
            at = std::ranges::copy(from.given, at).out;
        }
        break;
      case Kind::broadcast: {
        const std::vector<std::byte> values(meeting.seats[meeting.sizes[1]].wanted.begin(),
                                            meeting.seats[meeting.sizes[1]].wanted.end());
        for (const Meeting::Seat& to : meeting.seats) std::ranges::copy(values, to.wanted.begin());
        break;
      }
    }
    meeting.seats.clear();
    meeting.done = true;
  }

  /// Ends the run because of what `rank` found or did.
  void end(int rank, std::string why) {
    if (!broken) {
      broken = std::move(why);
      breaker = rank;
    }
    changed.notify_all();
  }

  std::size_t ranks;
  std::chrono::milliseconds deadline;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Meeting> meetings;  // of the whole run
  std::optional<std::string> broken;
  int breaker = 0;
};

class OneThread final : public ThreadCommunicator {
 public:
  OneThread(Group& group, int rank) : group_(group) {
    place_ = {.rank = rank,
              .ranks = static_cast<int>(group.ranks),
              .local_rank = rank,
              .local_ranks = static_cast<int>(group.ranks),
              .host = "testhost"};
  }

  [[nodiscard]] const RankPlace& place() const noexcept override { return place_; }
  [[nodiscard]] const std::string& library() const noexcept override { return library_; }
  [[nodiscard]] const RankTraffic& traffic() const noexcept override { return traffic_; }
  void set_purpose(std::string purpose) override { purpose_ = std::move(purpose); }

  void begin_sum(const Tensor& values) override {
    check(values.shape().rank() == 1 && is_floating(values.dtype()),
          "a sum over ranks needs (n) of a floating dtype, got {} {}",
          values.shape(),
          values.dtype());
    ++traffic_.sums;
    traffic_.summed_bytes += values.bytes();
    join(Kind::sum, {values.bytes(), static_cast<std::size_t>(values.dtype())}, {.values = values});
  }
  void progress() override {}
  void finish() override { wait_for(next_); }

  void gather(std::span<const std::byte> mine,
              std::span<const std::size_t> sizes,
              std::span<std::byte> all) override {
    ++traffic_.gathers;
    std::vector<std::size_t> said(sizes.begin(), sizes.end());
    check(said.size() == group_.ranks && said[static_cast<std::size_t>(place_.rank)] == mine.size(),
          "gather: this rank's bytes are not as many as their size says");
    join(Kind::gather, std::move(said), {.given = mine, .wanted = all});
    wait_for(next_);
  }
  void broadcast(std::span<std::byte> values, int from) override {
    join(Kind::broadcast, {values.size(), static_cast<std::size_t>(from)}, {.wanted = values});
    wait_for(next_);
  }
  [[noreturn]] void end_all(ExitCode code) override {
    {
      const std::scoped_lock lock(group_.mutex);
      group_.end(place_.rank, fmt::format("rank {} ended all ranks", place_.rank));
    }
    throw RankEnded{code};
  }

 private:
  void join(Kind kind, std::vector<std::size_t> sizes, Meeting::Seat seat) {
    const std::scoped_lock lock(group_.mutex);
    if (group_.broken) fail<RanksError>("{}", *group_.broken);
    if (next_ == group_.meetings.size()) {
      group_.meetings.push_back({.kind = kind, .sizes = sizes});
      group_.meetings.back().seats.resize(group_.ranks);
    }
    Meeting& meeting = group_.meetings[next_++];
    if (meeting.kind != kind || meeting.sizes != sizes) {
      group_.end(
          place_.rank,
          fmt::format(
              "{} communicates {}, but other ranks something else", place_.name(), purpose_));
      fail<RanksError>("{}", *group_.broken);
    }
    seat.taken = true;
    seat.purpose = purpose_;
    meeting.seats[static_cast<std::size_t>(place_.rank)] = std::move(seat);
    if (++meeting.came == group_.ranks) {
      group_.carry_out(meeting);
      group_.changed.notify_all();
    }
  }

  void wait_for(std::size_t meetings) {
    std::unique_lock lock(group_.mutex);
    const auto done = [&] {
      while (over_ < meetings && group_.meetings[over_].done) ++over_;
      return over_ == meetings;
    };
    const bool came = group_.changed.wait_for(
        lock, group_.deadline, [&] { return group_.broken.has_value() || done(); });
    if (came && done()) return;
    if (!group_.broken) group_.end(place_.rank, missing());
    fail<RanksError>("{}", *group_.broken);
  }

  [[nodiscard]] std::string missing() const {
    for (const Meeting& meeting : group_.meetings)
      for (std::size_t rank = 0; rank < meeting.seats.size(); ++rank)
        if (!meeting.seats[rank].taken)
          return fmt::format("rank {} ({}) did not come to {}", rank, place_.host, purpose_);
    return "a rank is missing";
  }

  Group& group_;
  RankPlace place_;
  std::string library_ = "threads";
  std::string purpose_ = "nothing yet";
  RankTraffic traffic_;
  std::size_t next_ = 0;  // this rank's next meeting
  std::size_t over_ = 0;  // meetings whose results are there
};

}  // namespace

void run_ranks(int ranks,
               FunctionRef<void(ThreadCommunicator&)> work,
               const RankThreadsOptions& options) {
  Group group(ranks, options.deadline);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        OneThread communicator(group, rank);
        try {
          work(communicator);
        } catch (...) {
          const std::scoped_lock lock(group.mutex);
          thrown[static_cast<std::size_t>(rank)] = std::current_exception();
          group.end(rank, fmt::format("rank {} threw", rank));
        }
      });
  }
  // The others have thrown because this one did.
  if (group.broken) std::rethrow_exception(thrown[static_cast<std::size_t>(group.breaker)]);
}

}  // namespace learn::testing
