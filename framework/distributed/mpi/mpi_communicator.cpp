#include "framework/distributed/mpi/mpi_communicator.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/distributed/mpi/half_sum.h"
#include "framework/distributed/rank_texts.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <thread>

namespace learn::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

constexpr int kNoteTag = 1;
constexpr std::size_t kMaxNote = 200;  // MPI sends it without the receiver's help
constexpr std::chrono::seconds kAnswerTime{2};
constexpr std::size_t kMaxMessage = std::size_t{1} << 30U;  // MPI counts with int

enum Kind : std::uint64_t { kSum, kGather, kBroadcast, kRoll, kEnd };

/// Lets other processes run: the longer the wait lasts, the longer. `busy`: data is under way, and
/// moves only while this rank polls.
void pause(Clock::duration waited, bool busy) {
  using namespace std::chrono_literals;
  if (waited < 50us) return;
  if (waited < (busy ? 100ms : 2ms))
    (void)sched_yield();
  else
    std::this_thread::sleep_for(waited < 100ms ? 50us : 500us);
}

struct Addition {
  MPI_Datatype type;
  MPI_Op sum;
};
Addition addition_of(DType dtype) {
  if (is_half(dtype)) return {.type = MPI_UINT16_T, .sum = half_sum(dtype)};
  return {.type = dtype == DType::f64 ? MPI_DOUBLE : MPI_FLOAT, .sum = MPI_SUM};
}

const CommunicatorOptions& checked(const CommunicatorOptions& options) {
  check(options.max_message_bytes >= sizeof(double) && options.max_message_bytes <= kMaxMessage,
        "max_message_bytes is {}, but must be at least {} and at most {}",
        options.max_message_bytes,
        sizeof(double),
        kMaxMessage);
  return options;
}

}  // namespace

MpiCommunicator::MpiCommunicator(const Launcher& launcher, const CommunicatorOptions& options)
    : options_(checked(options)),
      session_(launcher, options_.deadline),
      calls_(std::make_unique<CallQueue>(session_)),
      heard_(static_cast<std::size_t>(session_.place().ranks)),
      exceptions_(std::uncaught_exceptions()) {}

MpiCommunicator::~MpiCommunicator() {
  if (!failure_ && std::uncaught_exceptions() == exceptions_) {
    try {
      // MPI_Finalize waits for the other ranks without a deadline.
      purpose_ = "the end of the program";
      post({.what = "the end", .signature = {kEnd}, .start = [](auto&) {}});
      wait();
      session_.end();
      return;
    } catch (const Error& error) {
      // An exit without MPI_Finalize is a success to MPICH's launcher.
      log::error("[ranks] {}", error.what());
      end_all(error.exit_code());
    }
  }
  // The process leaves without MPI_Finalize, so that the launcher ends the other ranks. Until then
  // MPI may write to the memory of calls under way.
  (void)calls_.release();
}

template <class Work>
void MpiCommunicator::guarded(Work work) {
  if (failure_) fail<RanksError>("{}", *failure_);
  try {
    work();
  } catch (const RanksError& error) {
    failure_ = error.what();
    throw;
  }
}

void MpiCommunicator::post(CallPlan plan) {
  plan.purpose = purpose_;
  guarded([&] { calls_->post(std::move(plan)); });
}

void MpiCommunicator::begin_sum(const Tensor& values) {
  check(values.shape().rank() == 1 && values.device().is_cpu() && is_floating(values.dtype()),
        "a sum over ranks needs (n) f32, f64, f16 or bf16 on the CPU, not {} {}",
        values.shape(),
        values.dtype());
  auto start = [this, values = Tensor(values)](std::vector<MPI_Request>& requests) mutable {
    const std::size_t size = size_of(values.dtype());
    const Addition addition = addition_of(values.dtype());
    const std::size_t part = options_.max_message_bytes / size;
    const auto elements = static_cast<std::size_t>(values.elements());
    for (std::size_t begin = 0; begin < elements; begin += part)
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE,
                               values.raw() + begin * size,
                               static_cast<int>(std::min(part, elements - begin)),
                               addition.type,
                               addition.sum,
                               session_.data(),
                               &requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Iallreduce");
  };
  post({.what = fmt::format("the sum of {} {} values", values.elements(), values.dtype()),
        .signature = {kSum,
                      static_cast<std::uint64_t>(values.elements()),
                      static_cast<std::uint64_t>(values.dtype())},
        .start = std::move(start)});
}

void MpiCommunicator::progress() {
  guarded([&] { (void)calls_->advance(); });
}

void MpiCommunicator::finish() { wait(); }

void MpiCommunicator::gather(std::span<const std::byte> mine,
                             std::span<const std::size_t> sizes,
                             std::span<std::byte> all) {
  check_gather(mine, sizes, all);
  const auto ranks = static_cast<std::size_t>(place().ranks);
  std::vector<std::size_t> offsets(ranks);
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::size_t{0});
  const std::size_t part = std::max(options_.max_message_bytes / ranks, std::size_t{1});
  const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::size_t begin = 0;
  do {  // once at least: empty gathers are compared, too
    std::vector<std::size_t> counts;
    std::vector<std::size_t> places;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      counts.push_back(std::min(part, sizes[rank] - std::min(begin, sizes[rank])));
      places.push_back(offsets[rank] + std::min(begin, sizes[rank]));
    }
    const std::size_t count = counts[static_cast<std::size_t>(place().rank)];
    gather_part(mine.subspan(std::min(begin, mine.size()), count), counts, places, all);
    begin += part;
  } while (begin < longest);
}

void MpiCommunicator::gather_part(std::span<const std::byte> mine,
                                  std::span<const std::size_t> counts,
                                  std::span<const std::size_t> places,
                                  std::span<std::byte> all) {
  /// Memory of the call, which may outlast the caller's after an error.
  struct Memory {
    Bytes mine;
    Bytes all;
    std::vector<int> counts;
    std::vector<int> offsets;
  };
  const auto memory = std::make_shared<Memory>();
  memory->mine.assign(mine.begin(), mine.end());
  std::vector<std::uint64_t> signature{kGather};
  int total = 0;
  for (const std::size_t count : counts) {
    memory->counts.push_back(static_cast<int>(count));
    memory->offsets.push_back(total);
    signature.push_back(count);
    total += memory->counts.back();
  }
  memory->all.resize(static_cast<std::size_t>(total));
  post({.what = fmt::format("the gathering of {} bytes", total),
        .signature = std::move(signature),
        .start = [this, memory](std::vector<MPI_Request>& requests) {
          if (memory->all.empty()) return;
          check_mpi(MPI_Iallgatherv(memory->mine.data(),
                                    static_cast<int>(memory->mine.size()),
                                    MPI_BYTE,
                                    memory->all.data(),
                                    memory->counts.data(),
                                    memory->offsets.data(),
                                    MPI_BYTE,
                                    session_.data(),
                                    &requests.emplace_back(MPI_REQUEST_NULL)),
                    "MPI_Iallgatherv");
        }});
  wait();
  auto from = memory->all.begin();
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto end = from + memory->counts[rank];
    std::copy(from, end, all.subspan(places[rank], counts[rank]).begin());
    from = end;
  }
}

void MpiCommunicator::broadcast(std::span<std::byte> values, int from) {
  check_broadcast(from);
  const auto memory = std::make_shared<Bytes>(values.begin(), values.end());
  post({.what = fmt::format("the broadcast of {} bytes by rank {}", values.size(), from),
        .signature = {kBroadcast, values.size(), static_cast<std::uint64_t>(from)},
        .start = [this, memory, from](std::vector<MPI_Request>& requests) {
          const std::size_t part = options_.max_message_bytes;
          for (std::size_t begin = 0; begin < memory->size(); begin += part)
            check_mpi(MPI_Ibcast(memory->data() + begin,
                                 static_cast<int>(std::min(part, memory->size() - begin)),
                                 MPI_BYTE,
                                 from,
                                 session_.data(),
                                 &requests.emplace_back(MPI_REQUEST_NULL)),
                      "MPI_Ibcast");
        }});
  wait();
  if (from != place().rank) std::copy(memory->begin(), memory->end(), values.begin());
}

void MpiCommunicator::call_roll(const std::string& failure) {
  purpose_ = kRollCall;
  // Another rank may have come later to the wait in which it finds the failure.
  if (options_.deadline.count() > 0) options_.deadline += kAnswerTime;
  post({.what = failure, .signature = {kRoll}, .start = [](auto&) {}});
  wait();
}

void MpiCommunicator::wait() {
  guarded([&] {
    auto last_step = Clock::now();
    while (!calls_->empty()) {
      if (calls_->advance()) {
        last_step = Clock::now();
        continue;
      }
      const auto waited = Clock::now() - last_step;
      pause(waited, calls_->all_came());
      if (waited < std::chrono::milliseconds(1)) continue;
      const bool late = options_.deadline.count() > 0 && waited > options_.deadline;
      if (receive_notes() || late) end_wait();
    }
  });
}

bool MpiCommunicator::receive_notes() {
  bool came = false;
  for (;;) {
    int there = 0;
    MPI_Status status{};
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, session_.notes(), &there, &status),
              "MPI_Iprobe");
    if (there == 0) return came;
    std::array<char, kMaxNote> text{};
    int length = 0;
    check_mpi(MPI_Get_count(&status, MPI_CHAR, &length), "MPI_Get_count");
    check_mpi(MPI_Recv(text.data(),
                       static_cast<int>(text.size()),
                       MPI_CHAR,
                       status.MPI_SOURCE,
                       kNoteTag,
                       session_.notes(),
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    heard_[static_cast<std::size_t>(status.MPI_SOURCE)] =
        std::string(text.data(), static_cast<std::size_t>(length));
    came = true;
  }
}

void MpiCommunicator::end_wait() {
  const CallPlan& call = calls_->oldest();
  const bool all_came = calls_->all_came();
  note_ = call.purpose.substr(0, kMaxNote);
  for (int rank = 0; rank < place().ranks; ++rank) {
    if (rank == place().rank) continue;
    MPI_Request request = MPI_REQUEST_NULL;  // never waited for: a stopped rank does not receive
    check_mpi(MPI_Isend(note_.data(),
                        static_cast<int>(note_.size()),
                        MPI_CHAR,
                        rank,
                        kNoteTag,
                        session_.notes(),
                        &request),
              "MPI_Isend");
    check_mpi(MPI_Request_free(&request), "MPI_Request_free");
  }
  std::vector<int> missing;
  const auto begin = Clock::now();
  do {
    (void)receive_notes();
    missing.clear();
    for (int rank = 0; rank < place().ranks; ++rank)
      if (rank != place().rank && !heard_[static_cast<std::size_t>(rank)]) missing.push_back(rank);
    if (missing.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (Clock::now() - begin < kAnswerTime);
  const std::string time = seconds_text(options_.deadline);
  if (missing.empty()) {
    std::string waits;
    for (int rank = 0; rank < place().ranks; ++rank)
      if (rank != place().rank)
        waits += fmt::format("; {} waits for {}",
                             ranks_text({rank}, session_.hosts()),
                             *heard_[static_cast<std::size_t>(rank)]);
    fail<RanksError>(
        "{} did not end within {} although all ranks answer: {} waits for it{}. A rank came too "
        "late, or the network between the hosts is blocked: raise the time, or test the network",
        call.purpose,
        time,
        place().name(),
        waits);
  }
  const std::string names = ranks_text(missing, session_.hosts());
  check<RanksError>(!all_came,
                    "{} stopped during {}: nothing came for {}, and no answer",
                    names,
                    call.purpose,
                    time);
  fail<RanksError>("{} did not come to {} within {}", names, call.purpose, time);
}

void MpiCommunicator::end_all(ExitCode code) {
  log::flush();
  (void)std::fflush(nullptr);
  // MPICH's launcher drops what it has not forwarded when a rank ends all.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  (void)MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace learn::mpi
