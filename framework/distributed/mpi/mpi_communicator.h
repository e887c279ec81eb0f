#pragma once
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/mpi/call_queue.h"
#include "framework/distributed/mpi/session.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace learn::mpi {

/// Communication by MPI on host memory. Sums are MPI_Iallreduce, whose result has the same bits on
/// all ranks in Open MPI and MPICH. Ranks that make different calls, or calls of different sizes,
/// all get a RanksError with both calls; no memory is overwritten then.
///
/// Waits poll: 50 us without a pause, then with the processor given to others, then with sleep. At
/// the deadline, which counts from the last step of the communication, a rank sends a note to each
/// other rank and collects theirs. Ranks that wait for the same answer at once; those without an
/// answer are missing. No wait is for a single rank, so a stopped one does not hold up the others.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(const Launcher& launcher, const CommunicatorOptions& options);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  [[nodiscard]] const RankPlace& place() const noexcept override { return session_.place(); }
  [[nodiscard]] const std::string& library() const noexcept override { return session_.library(); }
  void set_purpose(std::string purpose) override { purpose_ = std::move(purpose); }
  void begin_sum(const Tensor& values) override;
  void progress() override;
  void finish() override;
  void gather(std::span<const std::byte> mine,
              std::span<const std::size_t> sizes,
              std::span<std::byte> all) override;
  void broadcast(std::span<std::byte> values, int from) override;
  void call_roll(const std::string& failure) override;
  [[noreturn]] void end_all(ExitCode code) override;

 private:
  void post(CallPlan plan);
  /// Waits for all calls.
  void wait();
  void gather_part(std::span<const std::byte> mine,
                   std::span<const std::size_t> sizes,
                   std::span<const std::size_t> offsets,
                   std::span<std::byte> all);
  /// Does `work`. Notes the error that `work` throws: then only `end_all` may be called.
  template <class Work>
  void guarded(Work work);
  /// Receives the notes of other ranks. Returns whether there are any.
  bool receive_notes();
  /// Throws RanksError for the ranks that do not answer.
  [[noreturn]] void end_wait();

  CommunicatorOptions options_;
  Session session_;
  std::unique_ptr<CallQueue> calls_;
  std::string purpose_ = "the start";
  std::string note_;                               // that this rank sends
  std::vector<std::optional<std::string>> heard_;  // by rank
  std::optional<std::string> failure_;
  int exceptions_;  // under way when this was made
};

}  // namespace learn::mpi
