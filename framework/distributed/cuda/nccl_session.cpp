#include "framework/distributed/cuda/nccl_session.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/distributed/cuda/nccl_library.h"
#include "framework/distributed/rank_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace learn::cuda {
namespace {

constexpr std::chrono::milliseconds kLookTime{10};

/// The failure of a rank, as bytes.
struct Report {
  std::array<char, 1000> text{};
  bool late = false;  ///< a wait took too long, which another rank's failure may explain
};

nccl::UniqueId unique_id(Communicator& host) {
  struct Start {
    nccl::UniqueId id;
    nccl::Result result;
  } start{};
  if (host.place().rank == 0) start.result = nccl::api().get_unique_id(&start.id);
  host.broadcast(std::as_writable_bytes(std::span(&start, 1)), 0);
  check<RanksError>(start.result == nccl::Result::success,
                    "rank 0 cannot start NCCL: {}",
                    nccl::api().error_string(start.result));
  return start.id;
}

/// Short at first: a call is enqueued within microseconds, and the first one within seconds.
void pause(std::chrono::steady_clock::duration waited) {
  using namespace std::chrono_literals;
  if (waited > 50us) std::this_thread::sleep_for(waited < 10ms ? 20us : 200us);
}

}  // namespace

NcclSession::NcclSession(Communicator& host, std::string device, std::chrono::milliseconds deadline)
    : host_(host), device_(std::move(device)), deadline_(deadline) {
  const nccl::UniqueId id = unique_id(host);
  nccl::Config config;
  const nccl::Result result =
      nccl::api().comm_init_rank_config(&comm_, host.place().ranks, id, host.place().rank, &config);
  try {
    settle("ncclCommInitRankConfig", result);
  } catch (...) {
    abort();
    throw;
  }
}

NcclSession::~NcclSession() { abort(); }

void NcclSession::set_purpose(std::string purpose) {
  const std::lock_guard lock(mutex_);
  purpose_ = std::move(purpose);
}

void NcclSession::check_failed() const {
  const std::lock_guard lock(mutex_);
  if (failure_) fail<RanksError>("{}", *failure_);
}

void NcclSession::call(const char* name, FunctionRef<nccl::Result(nccl::Comm)> function) {
  const std::lock_guard lock(mutex_);
  check_failed();
  settle(name, function(comm_));
}

void NcclSession::on_host(FunctionRef<void()> work) {
  check_failed();
  try {
    work();
  } catch (const RanksError& error) {
    const std::lock_guard lock(mutex_);
    failure_ = error.what();
    abort();
    throw;
  }
}

void NcclSession::settle(const char* name, nccl::Result result) {
  const auto begin = Clock::now();
  while (result == nccl::Result::in_progress) {
    const auto waited = Clock::now() - begin;
    if (late(waited))
      fail_with(fmt::format("{} did not end within {}", name, seconds_text(deadline_)), true);
    look_at_ranks();
    pause(waited);
    const nccl::Result queried = nccl::api().comm_get_async_error(comm_, &result);
    if (queried != nccl::Result::success) result = queried;
  }
  if (result != nccl::Result::success)
    fail_with(fmt::format("{}: {}", name, nccl::error_text(result, comm_)));
}

bool NcclSession::late(Clock::duration waited) const {
  return deadline_.count() > 0 && waited > deadline_;
}

bool NcclSession::on_owner() const { return std::this_thread::get_id() == owner_; }

void NcclSession::look_at_ranks() {
  if (!on_owner() || Clock::now() < next_look_) return;
  next_look_ = Clock::now() + kLookTime;
  on_host([&] { host_.progress(); });
}

void NcclSession::poll(Clock::duration waited) {
  const std::lock_guard lock(mutex_);
  check_failed();
  if (comm_ == nullptr) return;
  look_at_ranks();
  auto error = nccl::Result::success;
  const nccl::Result queried = nccl::api().comm_get_async_error(comm_, &error);
  if (queried != nccl::Result::success) error = queried;
  if (error != nccl::Result::success && error != nccl::Result::in_progress)
    fail_with(nccl::error_text(error, comm_));
  if (late(waited))
    fail_with(fmt::format("its work on {} did not end within {}", device_, seconds_text(deadline_)),
              true);
}

void NcclSession::abort() noexcept {
  if (comm_ == nullptr) return;
  const nccl::Result result = nccl::api().comm_abort(std::exchange(comm_, nullptr));
  if (result != nccl::Result::success && result != nccl::Result::in_progress)
    log::error("[ranks] ncclCommAbort: {}", nccl::api().error_string(result));
}

void NcclSession::fail_with(const std::string& text, bool late) {
  abort();
  failure_ = fmt::format("NCCL failed at {} during {}: {}", host_.place().name(), purpose_, text);
  failure_ = with_other_ranks(*failure_, late);
  fail<RanksError>("{}", *failure_);
}

std::string NcclSession::with_other_ranks(const std::string& failure, bool late) {
  if (!on_owner()) return failure;
  try {
    host_.call_roll(failure);
    Report mine{.late = late};
    std::copy_n(failure.begin(), std::min(failure.size(), mine.text.size() - 1), mine.text.begin());
    for (const Report& other : gather_from_all(host_, mine))
      if (late && !other.late) return fmt::format("{}; {}", failure, other.text.data());
    return failure +
           "; all ranks still answer: raise the time if a rank came late, or look at the network "
           "with NCCL_DEBUG=INFO";
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.starts_with(failure) ? text : fmt::format("{}; {}", failure, text);
  }
}

bool NcclSession::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (comm_ == nullptr) return false;
  try {
    purpose_ = "the end of NCCL";
    settle("ncclCommFinalize", nccl::api().comm_finalize(comm_));
    const nccl::Result result = nccl::api().comm_destroy(std::exchange(comm_, nullptr));
    if (result != nccl::Result::success && result != nccl::Result::in_progress)
      fail_with(fmt::format("ncclCommDestroy: {}", nccl::api().error_string(result)));
    return true;
  } catch (const Error& error) {
    log::error("[ranks] {}", error.what());
    return false;
  }
}

void NcclSession::abandon(std::string_view reason) noexcept {
  const std::lock_guard lock(mutex_);
  abort();
  if (!failure_) failure_ = fmt::format("{} left the ranks: {}", host_.place().name(), reason);
}

}  // namespace learn::cuda
