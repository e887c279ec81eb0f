#include "tests/lab/cuda/fake/nccl_communicator.h"

#include "tests/lab/cuda/fake/device.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/nccl_faults.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"

#include <algorithm>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

namespace fakecuda {
namespace {

// Used by a thread that may outlive static objects: never destroyed.
std::vector<std::unique_ptr<ncclComm>>& communicators() {
  static auto& all = *new std::vector<std::unique_ptr<ncclComm>>;
  return all;
}

/// One turn of the thread that lets streams get on.
void let_devices_work() {
  const std::lock_guard guard(api_mutex());
  if (schedule().order == Order::now) return advance_all();
  const auto satisfied = [] {
    return std::ranges::none_of(communicators(),
                                [](const auto& one) { return one->others_wait(); });
  };
  if (!satisfied()) advance_to_shared_work(satisfied);
}

void start_thread() {
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([] {
    for (;; let_devices_work()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

NcclCommunicator::NcclCommunicator(const nccl::UniqueId& id, int ranks, int rank)
    : rank_(rank), device_(current_device()) {
  const std::string obstacle = nccl_fault("system", rank)
                                   ? "Call to connect failed: Connection refused (by FAKE_NCCL)"
                                   : segment_.join(id, ranks, rank, device_);
  if (!obstacle.empty()) fail(kNcclSystemError, obstacle);
  in_progress_ = {
      "ncclCommInitRankConfig", [this] {
        if (!std::ranges::all_of(segment_.ranks(), [](const auto& one) { return one.joined == 2; }))
          return false;
        const std::string both = segment_.duplicate_device();
        if (!both.empty()) fail(kNcclInvalidUsage, both);
        return true;
      }};
}

ncclComm& NcclCommunicator::create(const nccl::UniqueId& id, int ranks, int rank) {
  auto& all = communicators();
  if (all.empty()) start_thread();
  return *all.emplace_back(std::make_unique<ncclComm>(id, ranks, rank));
}

NcclCommunicator& NcclCommunicator::alive(const ncclComm* comm, std::string_view call) {
  if (comm == nullptr) stop("{}: the communicator is null", call);
  for (const auto& one : communicators()) {
    if (one.get() != comm) continue;
    if (one->ended_by_.empty()) return *one;
    stop("rank {}: {} is called after {}", one->rank_, call, one->ended_by_);
  }
  stop("{}: {} is not a communicator", call, static_cast<const void*>(comm));
}

NcclResult NcclCommunicator::check_idle(std::string_view call) const {
  if (error_ == kNcclSuccess && in_progress_)
    stop("rank {}: {} is called while {} is in progress; poll ncclCommGetAsyncError first",
         rank_,
         call,
         in_progress_->name);
  return error_;
}

NcclResult NcclCommunicator::poll() {
  if (error_ != kNcclSuccess || !in_progress_) return error_;
  const Call call = *in_progress_;  // a copy: another thread may abort while it runs
  if (call.complete()) in_progress_.reset();
  return error_ == kNcclSuccess && in_progress_ ? kNcclInProgress : error_;
}

void NcclCommunicator::fail(NcclResult error, std::string text) {
  error_ = error;
  nccl_last_error() = std::move(text);
}

NcclResult NcclCommunicator::finalize() {
  if (std::exchange(finalized_, true)) stop("rank {}: ncclCommFinalize is called twice", rank_);
  in_progress_ = {"ncclCommFinalize", [this] {
                    if (is_busy()) return false;
                    segment_.own().closed = 1;
                    return std::ranges::all_of(segment_.ranks(),
                                               [](const auto& one) { return one.closed == 1; });
                  }};
  return kNcclInProgress;
}

void NcclCommunicator::destroy() {
  if (error_ != kNcclSuccess && is_busy())
    stop("rank {}: ncclCommDestroy waits for ever for what has failed; call ncclCommAbort", rank_);
  // Unlike finalize, this waits for this rank only.
  finalized_ = true;
  while (is_busy()) api_mutex().let_others_in();
  if (error_ == kNcclSuccess && ended_by_.empty()) segment_.own().closed = 1;
  ended_by_ = "ncclCommDestroy";
  segment_ = {};
}

void NcclCommunicator::abort() {
  mark_leftovers();
  ended_by_ = "ncclCommAbort";
  in_progress_.reset();
  segment_ = {};
}

void* NcclCommunicator::register_memory(void* p, std::size_t bytes) {
  check_range(p, bytes, fmt::format("rank {}: ncclCommRegister: buffer", rank_));
  static char* next = nullptr;
  registered_[++next] = p;
  return next;
}

void NcclCommunicator::deregister_memory(void* handle) {
  const auto found = registered_.find(handle);
  if (found == registered_.end())
    stop("rank {}: ncclCommDeregister: {} is not a handle of ncclCommRegister", rank_, handle);
  if (range_of(found->second).begin == 0)
    stop("rank {}: ncclCommDeregister: the memory was freed before", rank_);
  registered_.erase(found);
}

NcclResult NcclCommunicator::issue(const std::vector<NcclOperation>& operations,
                                   cudaStream_t stream) {
  if (finalized_)
    stop("rank {}: {} is called after ncclCommFinalize", rank_, operations.front().call);
  const auto batch = std::make_shared<const NcclBatch>(operations, rank_, ranks());
  const int device = stream == nullptr ? current_device() : stream_of(stream).device;
  if (device != device_)
    stop("rank {}: {}: the stream is one of device {}, the communicator of device {}",
         rank_,
         batch->what(),
         device,
         device_);
  const auto capture = stream_of(stream).capture;
  if (std::exchange(stream_, stream) != stream && is_busy() && capture == nullptr)
    stop("rank {}: {}: collectives of one communicator on two streams at once are not modelled",
         rank_,
         batch->what());
  if (std::exchange(connected_, true)) {
    enqueue_batch(batch, stream);
    return kNcclSuccess;
  }
  // The real library connects at the first collective: its work is not on the stream before
  // ncclCommGetAsyncError says so.
  in_progress_ = {operations.front().call, [this, batch, stream, capture] {
                    if (stream_of(stream).capture != capture)
                      stop("rank {}: {}: the capture has ended or begun before the call was done",
                           rank_,
                           batch->what());
                    enqueue_batch(batch, stream);
                    return true;
                  }};
  return kNcclInProgress;
}

void NcclCommunicator::enqueue_batch(const std::shared_ptr<const NcclBatch>& batch,
                                     cudaStream_t stream) {
  if (stream_of(stream).capture == nullptr) note_launch(*batch);
  enqueue(stream,
          batch->what(),
          DeviceWork{.run = [this, batch] { return execute(*batch); },
                     .launched = [this, batch] { note_launch(*batch); }});
}

void NcclCommunicator::note_launch(const NcclBatch& batch) {
  if (finalized_ || !ended_by_.empty())
    stop("rank {}: a graph with {} is launched after the communicator's end", rank_, batch.what());
  ++launched_;
}

bool NcclCommunicator::execute(const NcclBatch& batch) {
  if (!ended_by_.empty()) {  // aborted
    batch.forget_results();
    ++finished_;
    return true;
  }
  if (running_ != nullptr && running_ != &batch) return false;
  if (std::exchange(running_, &batch) == nullptr) {
    ++number_;
    begun_ = std::chrono::steady_clock::now();
  }
  NcclSegment::Rank& own = segment_.own();
  if (own.posted < number_) {
    if (!may_post(batch)) return false;
    batch.send(own.slot(number_));
    own.posted = number_;
  }
  if (!all_posted(batch)) return false;
  batch.receive(segment_.ranks(), number_);
  running_ = nullptr;
  ++finished_;
  return true;
}

bool NcclCommunicator::may_post(const NcclBatch& batch) {
  if (nccl_fault("hang", rank_, number_)) return false;
  for (const auto& [fault, error] :
       {std::pair{"remote", kNcclRemoteError}, std::pair{"timeout", kNcclTimeout}})
    if (nccl_fault(fault, rank_, number_)) {
      fail(error,
           fmt::format("collective {}, {}, has failed (by FAKE_NCCL)", number_, batch.what()));
      return false;
    }
  return std::chrono::steady_clock::now() - begun_ >=
         std::chrono::milliseconds(nccl_fault("slow", rank_).value_or(0));
}

bool NcclCommunicator::all_posted(const NcclBatch& batch) const {
  bool all = true;
  for (int r = 0; r < ranks(); ++r) {
    NcclSegment::Rank& rank = segment_.ranks()[static_cast<std::size_t>(r)];
    const bool closed = rank.closed == 1;  // read first: a rank posts before it closes
    const bool posted = rank.posted >= number_;
    all &= posted;
    if (posted && batch.what() != rank.slot(number_).what.data())
      stop("NCCL: collective {} is {} on rank {} and {} on rank {}",
           number_,
           batch.what(),
           rank_,
           rank.slot(number_).what.data(),
           r);
    if (closed && !posted)
      stop(
          "NCCL: rank {} waits in its collective {}, {}, and rank {} has finalized the "
          "communicator before",
          rank_,
          number_,
          batch.what(),
          r);
  }
  return all;
}

bool NcclCommunicator::others_wait() const {
  if (!ended_by_.empty() || error_ != kNcclSuccess) return false;
  const auto is_ahead = [&](const auto& one) { return one.posted > segment_.own().posted; };
  return std::ranges::any_of(segment_.ranks(), is_ahead) || (finalized_ && is_busy());
}

}  // namespace fakecuda
