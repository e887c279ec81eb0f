#include "tests/lab/cuda/fake/nccl_communicator.h"

#include "tests/lab/cuda/fake/device.h"
#include "tests/lab/cuda/fake/nccl_faults.h"
#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

namespace fakecuda {
namespace {

// Used by a thread that may outlive static objects: never destroyed.
std::vector<std::unique_ptr<NcclCommunicator>>& communicators() {
  static auto& all = *new std::vector<std::unique_ptr<NcclCommunicator>>;
  return all;
}

void start_thread() {
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([] {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      const std::lock_guard guard(api_mutex());
      NcclCommunicator::let_devices_work();
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

std::string& nccl_last_error() {
  static auto& text = *new std::string;
  return text;
}

NcclCommunicator::NcclCommunicator(int ranks, int rank, int device, bool blocking)
    : rank_(rank), ranks_(ranks), device_(device), blocking_(blocking) {}

NcclCommunicator& NcclCommunicator::create(int ranks, int rank, int device, bool blocking) {
  auto& all = communicators();
  if (all.empty()) start_thread();
  all.emplace_back(new NcclCommunicator(ranks, rank, device, blocking));
  return *all.back();
}

NcclCommunicator& NcclCommunicator::alive(NcclCommunicator* comm, std::string_view call) {
  if (comm == nullptr) stop("{}: the communicator is null", call);
  const auto& all = communicators();
  if (std::none_of(all.begin(), all.end(), [&](const auto& one) { return one.get() == comm; }))
    stop("{}: {} is not a communicator", call, static_cast<const void*>(comm));
  if (!comm->is_alive())
    stop("rank {}: {} is called after {}",
         comm->rank_,
         call,
         comm->state_ == State::aborted ? "ncclCommAbort" : "ncclCommDestroy");
  return *comm;
}

bool NcclCommunicator::is_alive() const {
  return state_ != State::aborted && state_ != State::destroyed;
}

NcclResult NcclCommunicator::check_idle(std::string_view call) const {
  if (error_ != nccl_success) return error_;
  if (state_ == State::joining || state_ == State::issuing || state_ == State::closing)
    stop("rank {}: {} is called while {} is in progress; poll ncclCommGetAsyncError first",
         rank_,
         call,
         state_ == State::joining   ? "ncclCommInitRankConfig"
         : state_ == State::issuing ? pending_->call()
                                    : "ncclCommFinalize");
  return nccl_success;
}

void NcclCommunicator::fail(NcclResult error, std::string text) {
  error_ = error;
  nccl_last_error() = std::move(text);
}

void NcclCommunicator::join(const NcclId& id) {
  if (nccl_faults::refuses_to_start(rank_))
    return fail(nccl_system_error, "Call to connect failed: Connection refused (by FAKE_NCCL)");
  const std::string obstacle = segment_->join(id, ranks_, rank_, device_);
  if (!obstacle.empty()) fail(nccl_system_error, obstacle);
}

NcclResult NcclCommunicator::poll() {
  if (error_ != nccl_success) return error_;
  if (state_ == State::joining && segment_->all_joined()) {
    state_ = State::ready;
    if (const std::string both = segment_->duplicate_device(); !both.empty())
      fail(nccl_invalid_usage, both);
  } else if (state_ == State::issuing) {
    state_ = State::ready;
    if (stream_of(stream_).capture != pending_capture_)
      stop(
          "rank {}: {}: the capture has ended or begun before ncclCommGetAsyncError returned "
          "success",
          rank_,
          pending_->what());
    pending_capture_.reset();
    enqueue_batch(std::exchange(pending_, nullptr), stream_);
  } else if (state_ == State::closing && launched_ == finished_) {
    segment_->close();
    bool all = true;
    for (int r = 0; r < ranks_; ++r) all &= segment_->is_closed(r);
    if (all) state_ = State::closed;
  }
  if (error_ != nccl_success) return error_;
  return state_ == State::ready || state_ == State::closed ? nccl_success : nccl_in_progress;
}

NcclResult NcclCommunicator::wait() {
  for (;;) {
    const NcclResult result = poll();
    if (result != nccl_in_progress) return result;
    api_mutex().let_others_in();
    if (!is_alive()) return nccl_internal_error;  // aborted by another thread
  }
}

void NcclCommunicator::finalize() {
  if (state_ == State::closed) stop("rank {}: ncclCommFinalize is called twice", rank_);
  state_ = State::closing;
}

void NcclCommunicator::destroy() {
  if (error_ != nccl_success && launched_ != finished_)
    stop(
        "rank {}: ncclCommDestroy would wait for ever for collectives that have failed; call "
        "ncclCommAbort",
        rank_);
  // Unlike finalize, this waits for this rank only.
  if (state_ == State::ready) state_ = State::closing;
  while (launched_ != finished_) api_mutex().let_others_in();
  if (state_ == State::closing) segment_->close();
  state_ = State::destroyed;
  segment_.reset();
}

void NcclCommunicator::abort() {
  state_ = State::aborted;
  mark_leftovers();
  segment_.reset();
  pending_.reset();
}

void* NcclCommunicator::register_memory(void* p, std::size_t bytes) {
  check_range(p, bytes, fmt::format("rank {}: ncclCommRegister: buffer", rank_));
  static char* next = nullptr;
  registered_[++next] = range_of(p);
  return next;
}

void NcclCommunicator::deregister_memory(void* handle) {
  const auto found = registered_.find(handle);
  if (found == registered_.end())
    stop("rank {}: ncclCommDeregister: {} is not a handle of ncclCommRegister", rank_, handle);
  if (const Range now = range_of(reinterpret_cast<void*>(found->second.begin)); now.begin == 0)
    stop("rank {}: ncclCommDeregister: the memory was freed before", rank_);
  registered_.erase(found);
}

void NcclCommunicator::check_stream(const NcclBatch& batch, cudaStream_t stream) {
  const int device = stream == nullptr ? current_device() : stream_of(stream).device;
  if (device != device_)
    stop("rank {}: {}: the stream is one of device {}, the communicator of device {}",
         rank_,
         batch.what(),
         device,
         device_);
  if (stream != stream_ && launched_ != finished_ && stream_of(stream).capture == nullptr)
    stop("rank {}: {}: collectives of one communicator on two streams at once are not modelled",
         rank_,
         batch.what());
}

NcclResult NcclCommunicator::issue(std::vector<NcclOperation> operations, cudaStream_t stream) {
  if (state_ == State::closed)
    stop("rank {}: {} is called after ncclCommFinalize", rank_, name_of(operations.front().call));
  auto batch = std::make_shared<const NcclBatch>(std::move(operations), rank_, ranks_);
  check_stream(*batch, stream);
  stream_ = stream;
  // The real library connects at the first collective: without blocking, its work is not on the
  // stream before ncclCommGetAsyncError says so.
  if (!blocking_ && !std::exchange(issued_before_, true)) {
    pending_ = std::move(batch);
    pending_capture_ = stream_of(stream).capture;
    state_ = State::issuing;
    return nccl_in_progress;
  }
  enqueue_batch(batch, stream);
  return nccl_success;
}

void NcclCommunicator::enqueue_batch(const std::shared_ptr<const NcclBatch>& batch,
                                     cudaStream_t stream) {
  if (stream_of(stream).capture == nullptr) note_launch(*batch);
  std::string what = batch->what();
  enqueue(stream,
          std::move(what),
          DeviceWork{.run = [this, batch] { return execute(*batch); },
                     .launched = [this, batch] { note_launch(*batch); }});
}

void NcclCommunicator::note_launch(const NcclBatch& batch) {
  if (state_ != State::ready)
    stop(
        "rank {}: a graph with {} is launched after ncclCommFinalize, ncclCommDestroy or "
        "ncclCommAbort",
        rank_,
        batch.what());
  ++launched_;
}

bool NcclCommunicator::execute(const NcclBatch& batch) {
  if (state_ == State::aborted) {
    batch.forget_results();
    ++finished_;
    return true;
  }
  if (running_ != nullptr && running_ != &batch) return false;
  if (running_ == nullptr) {
    running_ = &batch;
    posted_ = false;
    ++number_;
    begun_ = std::chrono::steady_clock::now();
  }
  if (!posted_) {
    if (!may_post(batch)) return false;
    batch.send(*segment_, number_);
    segment_->post(number_, batch.what());
    posted_ = true;
  }
  if (!all_posted(batch)) return false;
  batch.receive(*segment_, number_);
  running_ = nullptr;
  ++finished_;
  return true;
}

bool NcclCommunicator::may_post(const NcclBatch& batch) {
  if (nccl_faults::hangs(rank_, number_)) return false;
  if (const NcclResult error = nccl_faults::error_of(rank_, number_); error != nccl_success) {
    fail(error, fmt::format("collective {}, {}, has failed (by FAKE_NCCL)", number_, batch.what()));
    return false;
  }
  return std::chrono::steady_clock::now() - begun_ >= nccl_faults::delay(rank_);
}

bool NcclCommunicator::all_posted(const NcclBatch& batch) const {
  bool all = true;
  for (int r = 0; r < ranks_; ++r) {
    const bool closed = segment_->is_closed(r);
    const bool posted = segment_->has_posted(r, number_);
    if (closed && !posted)
      stop(
          "NCCL: rank {} waits in its collective {}, {}, and rank {} has finalized the "
          "communicator before",
          rank_,
          number_,
          batch.what(),
          r);
    const int low = std::min(r, rank_);
    const int high = std::max(r, rank_);
    if (posted && segment_->what(low, number_) != segment_->what(high, number_))
      stop("NCCL: collective {} is {} on rank {} and {} on rank {}",
           number_,
           segment_->what(low, number_),
           low,
           segment_->what(high, number_),
           high);
    all &= posted;
  }
  return all;
}

bool NcclCommunicator::others_wait() const {
  if (!is_alive() || state_ == State::joining || error_ != nccl_success) return false;
  return segment_->peers_are_ahead() || (state_ == State::closing && launched_ != finished_);
}

void NcclCommunicator::let_devices_work() {
  const auto& all = communicators();
  if (schedule().order == Order::now) return advance_all();
  const auto satisfied = [&] {
    return std::none_of(all.begin(), all.end(), [](const auto& one) { return one->others_wait(); });
  };
  if (!satisfied()) advance_to_shared_work(satisfied);
}

}  // namespace fakecuda
