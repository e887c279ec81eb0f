#include "callbacks/data_parallel.h"

#include "callbacks/registry.h"
#include "framework/core/fnv1a.h"
#include "framework/core/log.h"
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/device_communicator.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <span>

namespace learn::callbacks {
namespace {

/// The state from which an update starts, in the order of its names.
std::vector<Tensor> state_of(nn::ParamStore& params) {
  std::vector<Tensor> parts{params.flat_master(), params.flat_buffers()};
  for (auto& [name, state] : params.states()) parts.push_back(state.values);
  return parts;
}

std::uint64_t names_of(nn::ParamStore& params) {
  std::uint64_t hash = fnv1a("");
  for (const auto& [name, state] : params.states())
    hash = fnv1a_words(std::array{hash, fnv1a(name), state.values.bytes()});
  return fnv1a_words(std::array{hash, params.flat_master().bytes(), params.flat_buffers().bytes()});
}

/// Flat buffers have a multiple of 8 bytes.
std::uint64_t hash_of(Context& ctx, const std::vector<Tensor>& parts) {
  std::uint64_t hash = fnv1a("");
  for (const Tensor& values : parts) {
    const Tensor part = to_host(ctx, values);
    std::uint64_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= part.bytes(); at += sizeof word) {
      std::memcpy(&word, part.raw() + at, sizeof word);
      hash = (hash ^ word) * kFnv1aPrime;
    }
  }
  return hash;
}

std::chrono::milliseconds deadline_of(const DataParallelOptions& options) {
  check<UsageError>(options.timeout >= 0 && options.timeout <= 1e6,
                    "data_parallel: a timeout must have 0 to 1e6 seconds (0: never), not {}",
                    options.timeout);
  return std::chrono::milliseconds(std::llround(options.timeout * 1e3));
}

}  // namespace

DataParallel::DataParallel(const DataParallelOptions& options)
    : DataParallel(ranks_of_process({.deadline = deadline_of(options)}), options) {}

DataParallel::DataParallel(Communicator& communicator, const DataParallelOptions& options)
    : DataParallel(&communicator, options) {}

DataParallel::DataParallel(Communicator* communicator, const DataParallelOptions& options)
    : verify_(options.verify) {
  check<UsageError>(options.bucket_mb > 0 && options.bucket_mb <= 1024,
                    "data_parallel: a bucket must have more than 0 and at most 1024 megabytes, "
                    "not {}",
                    options.bucket_mb);
  check<UsageError>(options.verify >= 0,
                    "data_parallel: verify={} is below 0 (0: never compare the ranks)",
                    options.verify);
  if (communicator == nullptr || communicator->place().ranks == 1) return;
  host_ = communicator;
  deadline_ = deadline_of(options);
  exchange_options_ = {.bucket_bytes = static_cast<std::size_t>(options.bucket_mb * 1e6),
                       .wire = options.wire,
                       .overlap = options.overlap,
                       .sync_bn = options.sync_bn};
}

DataParallel::~DataParallel() = default;

std::vector<std::string> DataParallel::claims() const { return {"join several ranks"}; }

void DataParallel::attached(Learner& learn) {
  if (host_ == nullptr) return;
  const bool on_cpu = learn.context().device().is_cpu();
  check<UsageError>(!on_cpu || host_->sums_on_cpu(),
                    "the processes of torchrun can train on GPUs only: to train on CPUs, start the "
                    "same command by 'mpirun -n {}'",
                    host_->place().ranks);
  exchange_.reset();
  if (!on_cpu) device_ = device_communicator(*host_, learn.context(), deadline_);
  exchange_ = std::make_unique<Exchange>(on_cpu ? *host_ : *device_, exchange_options_);
}

void DataParallel::train_begin(Learner& learn) {
  if (exchange_ == nullptr) return;
  Communicator& communicator = exchange_->communicator();
  nn::ParamStore& params = learn.params();
  communicator.keep(params.flat_grad());
  if (exchange_options_.wire == Wire::half && params.flat_half_grad().defined())
    communicator.keep(params.flat_half_grad());
  const std::int64_t epochs = learn.progress().epoch_clock;
  if (const int rank = exchange_->different_rank(epochs, names_of(params)); rank != 0)
    fail<RanksError>(
        "{} and {} have different parameters or optimizers: all ranks must build the same model",
        exchange_->name_of(0),
        exchange_->name_of(rank));
  std::vector<Tensor> state = state_of(params);
  if (exchange_->different_rank(epochs, hash_of(learn.context(), state)) == 0) return;
  log::info("[data_parallel] the ranks start with different weights: all take rank 0's");
  for (Tensor& part : state) communicator.broadcast_tensor(part, 0);
  params.commit_buffers();
  params.refresh_working();
}

void DataParallel::epoch_end(Learner& learn) {
  if (exchange_ == nullptr || verify_ == 0 || learn.progress().epoch_clock % verify_ != 0) return;
  const int rank = exchange_->different_rank(learn.progress().epoch_clock,
                                             hash_of(learn.context(), state_of(learn.params())));
  if (rank != 0)
    fail<RanksError>(
        "the weights of {} and {} differ after epoch {}: something changes them on one rank "
        "only, such as a callback that draws random numbers or reads a clock",
        exchange_->name_of(0),
        exchange_->name_of(rank),
        learn.progress().epoch_clock);
}

void register_data_parallel(CallbackRegistry& registry) {
  registry.refuse("data_parallel",
                  "processes that 'mpirun -n N learn train' starts have it already. A program adds "
                  "callbacks::DataParallel");
}

}  // namespace learn::callbacks
