// One of the ranks that faults.py starts: faulty_rank SCENARIO [MILLISECONDS OF THE DEADLINE]. Does
// as `learn` does with an error: prints it, and ends all ranks with its exit code.
#include "framework/core/error.h"
#include "framework/distributed/communicator_library.h"
#include "framework/tensor/arena.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace learn;

void sum(Communicator& ranks, std::int64_t size = 100, DType dtype = DType::f32) {
  Arena arena("test", cpu_pages());
  Tensor values(arena, {size}, dtype);
  if (dtype == DType::f32)
    for (float& value : values.span<float>()) value = 1;
  ranks.begin_sum(values);
  ranks.finish();
}

/// Destroys the communicator by an error of rank 1, which does not wait for the others.
void leave_an_error(const std::unique_ptr<Communicator> ranks) {
  sum(*ranks);
  if (ranks->place().rank == 1) fail<DataError>("this rank's data is damaged");
  sum(*ranks);
}

void play(std::string_view scenario, Communicator& ranks) {
  const int rank = ranks.place().rank;
  const bool last = rank == ranks.place().ranks - 1;
  ranks.set_purpose("the gradients of batch 11");
  sum(ranks);
  ranks.set_purpose("the gradients of batch 12");
  if (last && (scenario == "sleeps" || scenario == "staggered")) {
    std::this_thread::sleep_for(std::chrono::seconds(100));
  } else if (scenario == "sleeps in the middle") {
    Arena arena("test", cpu_pages());
    const Tensor values(arena, {16'000'000}, DType::f32);
    ranks.begin_sum(values);
    for (int i = 0; i < 5 && last; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ranks.progress();
    }
    if (last) std::this_thread::sleep_for(std::chrono::seconds(100));
    ranks.finish();
  } else if (scenario == "stops" && last) {
    std::printf("stopping %d\n", getpid());
    (void)std::fflush(stdout);
    (void)raise(SIGSTOP);
  } else if (scenario == "late" && last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  } else if (scenario == "staggered" && rank == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2300));
  } else if (scenario == "ends" && rank == 1) {
    std::printf("printed before the end");
    ranks.end_all(ExitCode::data);
  } else if (scenario == "throws" && rank == 1) {
    fail<DataError>("this rank's data is damaged");
  } else if (scenario == "returns" && rank == 1) {
    std::exit(0);
  } else if (scenario == "size" || scenario == "kind" || scenario == "call") {
    ranks.set_purpose(last ? "the statistics" : "the gradients of batch 12");
    std::array<std::byte, 8> bytes{};
    if (last && scenario == "call")
      ranks.broadcast(bytes, 0);
    else
      sum(ranks,
          last && scenario == "size" ? 99 : 100,
          last && scenario == "kind" ? DType::f64 : DType::f32);
  }
  sum(ranks);
  if (scenario == "absent at the end" && last)
    std::this_thread::sleep_for(std::chrono::seconds(100));
}

}  // namespace

int main(int, char** argv) {
  const std::string_view scenario = argv[1];
  std::unique_ptr<Communicator> ranks;
  try {
    const std::optional<Launcher> launcher = find_launcher();
    if (!launcher) fail<UsageError>("there is no launcher");
    CommunicatorOptions options{.deadline = std::chrono::milliseconds(std::atoi(argv[2]))};
    if (scenario == "long messages") options.max_message_bytes = std::size_t{1} << 31U;
    if (scenario == "leaves an error") {
      leave_an_error(open_communicator(*launcher, options));
      return 0;
    }
    ranks = open_communicator(*launcher, options);
    play(scenario, *ranks);
    ranks.reset();
    std::puts("ended well");
    if (scenario == "opens again") ranks = open_communicator(*launcher, options);
  } catch (const Error& error) {
    (void)std::fprintf(stderr, "error: %s\n", error.what());
    if (!ranks) return static_cast<int>(error.exit_code());
    if (scenario == "late") {
      try {
        ranks->finish();
      } catch (const RanksError& again) {
        (void)std::fprintf(stderr, "again: %s\n", again.what());
      }
    }
    ranks->end_all(error.exit_code());
  }
  return 0;
}
