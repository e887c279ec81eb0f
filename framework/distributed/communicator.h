#pragma once
#include "framework/core/error.h"
#include "framework/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace learn {

/// The place of a process among the processes, called ranks, that train one model together.
struct RankPlace {
  int rank = 0;         ///< 0 to ranks - 1
  int ranks = 1;        ///< of all hosts
  int local_rank = 0;   ///< 0 to local_ranks - 1, on the same host
  int local_ranks = 1;  ///< of this host
  std::string host;     ///< its name

  /// For texts: "rank 3 (nodeb)".
  [[nodiscard]] std::string name() const;
};

/// Communication between ranks. All ranks make the same calls in the same order, with operands of
/// the same sizes; one thread of a rank makes them. Results have the same bits on all ranks.
///
/// A wait for ranks that do not answer ends with a RanksError that names them, after the deadline
/// of the communicator. Then, and after any other RanksError, only `end_all` may be called.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual const RankPlace& place() const noexcept = 0;
  /// The library that carries the messages, for people: "Open MPI 4.1.4".
  [[nodiscard]] virtual const std::string& library() const noexcept = 0;
  /// Whether `begin_sum` takes tensors of a CPU.
  [[nodiscard]] virtual bool sums_on_cpu() const noexcept { return true; }

  /// Says what the rank communicates from now on, for the text of a rank that waits for it or in
  /// vain: "the gradients of batch 12".
  virtual void set_purpose(std::string purpose) = 0;

  /// Starts to replace `values` (n), of a floating dtype, on all ranks by their sum over the ranks.
  /// Halves are rounded after each addition. Several sums may be under way. Their values must not
  /// be used until `finish`. On a GPU it comes after what is enqueued on the compute stream.
  virtual void begin_sum(const Tensor& values) = 0;
  /// Says that the memory of `values` is summed in every step, wholly or in parts, so that a
  /// library for GPUs can prepare it. Keeps it. Called by all ranks; again, it does nothing.
  virtual void keep(const Tensor& /*values*/) {}
  /// Advances the sums that are under way, and waits for none.
  virtual void progress() = 0;
  /// Waits for all sums. On a GPU the compute stream waits, and not the calling thread.
  virtual void finish() = 0;
  /// Fills `all` (n) with the elements of `mine` of all ranks, in the order of ranks; rank r has
  /// `counts[r]`, which may be 0. On a GPU the compute stream orders it among other work.
  virtual void gather_tensor(const Tensor& mine, std::span<const std::int64_t> counts, Tensor all);
  /// Sends the elements of `values` of rank `from` to all ranks, as `broadcast`. On a GPU the
  /// compute stream orders it among other work.
  virtual void broadcast_tensor(Tensor values, int from);

  /// Fills `all` with the bytes of all ranks, in the order of ranks; rank r has `sizes[r]`, which
  /// may be 0. Host memory; waits.
  virtual void gather(std::span<const std::byte> mine,
                      std::span<const std::size_t> sizes,
                      std::span<std::byte> all) = 0;
  /// Sends `values` of rank `from` to all ranks, where they replace the rank's own. Host memory;
  /// waits.
  virtual void broadcast(std::span<std::byte> values, int from) = 0;

  /// Waits for all ranks after another library has failed in this one, by the error `failure`.
  /// Ranks that make another call instead get a RanksError with it.
  virtual void call_roll(const std::string& failure);

  /// Ends the processes of all ranks, this one with `code`, after an error that this one has
  /// printed. Does not wait for other ranks.
  [[noreturn]] virtual void end_all(ExitCode code) = 0;

 protected:
  /// Throws ShapeError if the operands of `gather` do not fit together.
  void check_gather(std::span<const std::byte> mine,
                    std::span<const std::size_t> sizes,
                    std::span<const std::byte> all) const;
  /// Throws ShapeError if rank `from` does not exist.
  void check_broadcast(int from) const;
};

/// The `mine` of all ranks, in the order of ranks. All ranks call this together.
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<T> gather_from_all(Communicator& ranks, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(ranks.place().ranks));
  ranks.gather(std::as_bytes(std::span(&mine, 1)),
               std::vector<std::size_t>(all.size(), sizeof mine),
               std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace learn
