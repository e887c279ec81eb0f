#pragma once
#include "framework/core/function_ref.h"
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/tcp/start.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace learn::tcp {

/// Communication over TCP between processes that torchrun started, for host memory: rank 0 gathers
/// and sends. It does not sum tensors.
///
/// Each call of a rank goes to rank 0 with its kind, sizes and purpose. Rank 0 compares them before
/// it answers, so that ranks which make different calls all get a RanksError with both. A rank
/// whose process ends closes its connection: rank 0 tells all others in the running call, or in its
/// next one. A rank that waits until its deadline asks rank 0 who is missing; without an answer, it
/// is rank 0.
///
/// After another rank called `end_all`, the next call, or `progress`, ends this process with its
/// code. No thread watches in between, because the ranks make a call for every batch.
class TcpCommunicator final : public Communicator {
 public:
  /// Throws as `join_ranks`.
  TcpCommunicator(const Launcher& launcher, const CommunicatorOptions& options);
  ~TcpCommunicator() override;
  TcpCommunicator(const TcpCommunicator&) = delete;
  TcpCommunicator& operator=(const TcpCommunicator&) = delete;

  [[nodiscard]] const RankPlace& place() const noexcept override { return star_.place; }
  [[nodiscard]] const std::string& library() const noexcept override { return library_; }
  [[nodiscard]] bool sums_on_cpu() const noexcept override { return false; }
  void set_purpose(std::string purpose) override { purpose_ = std::move(purpose); }
  /// Throws UsageError.
  void begin_sum(const Tensor& values) override;
  /// Looks whether another rank has ended, without waiting. Throws RanksError then.
  void progress() override;
  void finish() override {}
  void gather(std::span<const std::byte> mine,
              std::span<const std::size_t> sizes,
              std::span<std::byte> all) override;
  void broadcast(std::span<std::byte> values, int from) override;
  void call_roll(const std::string& failure) override;
  [[noreturn]] void end_all(ExitCode code) override;

 private:
  /// A call of this rank.
  struct Call {
    std::string what;  ///< for messages: "the broadcast of 8 bytes by rank 0"
    std::uint64_t signature = 0;
    std::span<const std::byte> mine{};  ///< goes to rank 0
  };
  using Shared = std::shared_ptr<const Bytes>;
  /// Makes the data for all ranks from the calls of the other ranks.
  using Join = FunctionRef<Bytes(std::span<const Message> calls)>;

  /// Makes a call. Returns the joined data.
  Shared exchange(const Call& call, Join join);
  /// Its parts on rank 0 and on the others.
  Shared lead(const Call& call, Join join);
  Shared follow(const Call& call);
  void wait_for_calls();
  void compare(const Call& call);
  void send_results();
  /// Does `work`. Notes the error that it throws: then only `end_all` may be called.
  template <class Work>
  void guarded(Work work);
  /// Takes the messages that came from a rank.
  void take_from(std::size_t rank);
  [[nodiscard]] std::string name_of(std::size_t rank) const;
  /// The deadline of a wait whose last step was then.
  [[nodiscard]] Clock::time_point limit(Clock::time_point since) const;
  /// Throws RanksError on all ranks, by a message of rank 0.
  [[noreturn]] void fail_all(const std::string& text);
  [[noreturn]] void end_wait();
  /// Ends this process, as the message of another rank demands.
  [[noreturn]] void end_process(const Message& end);
  [[noreturn]] void end_all_for(const std::string& rank, ExitCode code);

  CommunicatorOptions options_;
  Star star_;
  std::string library_ = "TCP";
  std::string purpose_ = "the start";
  std::uint64_t calls_ = 0;                   // number of the running call
  std::uint64_t asked_ = 0;                   // the last call in which a rank's deadline passed
  std::vector<std::optional<Message>> came_;  // by rank: calls, on rank 0; a result, on the others
  std::optional<std::string> failure_;
  int exceptions_;  // under way when this was made
};

}  // namespace learn::tcp
