#include "framework/core/host_name.h"
#include "framework/tensor/arena.h"
#include "tests/distributed/host_calls.h"
#include "tests/distributed/tcp/rank_processes.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>

namespace learn {
namespace {

using testing::check_all_well;
using testing::Ended;
using testing::require;
using testing::run_ranks;

/// The text of the error that all ranks have; "different" if they differ.
std::string error_of_all(const std::vector<Ended>& ends) {
  for (const Ended& end : ends) {
    INFO(end.text);
    CHECK(end.code == static_cast<int>(ExitCode::ranks));
    CHECK(end.seconds < 5);
    if (end.text != ends.front().text) return "different: " + end.text;
  }
  return ends.front().text;
}

TEST_CASE("TCP: bytes of all sizes are gathered and sent by 1 to 4 ranks") {
  for (const int ranks : {1, 2, 3, 4})
    check_all_well(run_ranks(ranks, [&](Communicator& c) {
      for (const std::size_t size : {0U, 1U, 999U, 65536U, 65537U, 1000003U}) {
        const std::string text = std::to_string(size) + " bytes";
        require(testing::gathers(c, size), text + " gathered");
        require(testing::broadcasts(c, size), text + " sent");
      }
      c.finish();
      c.progress();
    }));
}

TEST_CASE("TCP: fifty megabytes are gathered and sent") {
  check_all_well(run_ranks(3, [&](Communicator& c) {
    require(testing::gathers(c, 25'000'001), "gathered");
    require(testing::broadcasts(c, 50'000'003), "sent");
  }));
}

TEST_CASE("TCP: many small calls keep their order") {
  check_all_well(run_ranks(4, [&](Communicator& c) {
    for (int i = 0; i < 2000; ++i) {
      const auto all = gather_from_all(c, i * 10 + c.place().rank);
      for (int rank = 0; rank < 4; ++rank)
        require(all[static_cast<std::size_t>(rank)] == i * 10 + rank, std::to_string(i));
    }
  }));
}

TEST_CASE("TCP: the place is the launcher's and the ranks of a host are numbered") {
  check_all_well(run_ranks(3, [](Communicator& c) {
    const RankPlace& place = c.place();
    require(place.ranks == 3 && place.local_ranks == 3 && place.local_rank == place.rank, "place");
    require(place.host == host_name(), "host " + place.host);
    require(c.library() == "TCP", c.library());
  }));
  const int port = testing::free_port();
  check_all_well(testing::run_processes(2, [&](int rank) {
    Launcher launcher = testing::launcher_of(rank, 2, port);
    launcher.local_rank = 1 - rank;
    tcp::TcpCommunicator c(launcher, {});
    require(c.place().local_rank == 1 - rank, "local rank of the launcher");
  }));
}

TEST_CASE("TCP: tensors of the host are gathered and sent but not summed") {
  check_all_well(run_ranks(2, [](Communicator& c) {
    Arena arena("test", cpu_pages());
    Tensor mine(arena, {c.place().rank + 1}, DType::f32);
    Tensor all(arena, {3}, DType::f32);
    for (float& value : mine.span<float>()) value = static_cast<float>(c.place().rank) + 0.5F;
    c.gather_tensor(mine, std::array<std::int64_t, 2>{1, 2}, all);
    require(all.span<float>()[0] == 0.5F && all.span<float>()[2] == 1.5F, "gathered");
    c.broadcast_tensor(all, 1);
    require(!c.sums_on_cpu(), "sums_on_cpu");
    try {
      c.begin_sum(all);
      require(false, "an error");
    } catch (const UsageError& error) {
      require(std::string(error.what()).find("start the same command by 'mpirun -n 2'") !=
                  std::string::npos,
              error.what());
    }
  }));
}

TEST_CASE("TCP: ranks that make different calls all have an error with both") {
  const std::string host = host_name();
  const auto differ = [&](int ranks, FunctionRef<void(Communicator&)> call) {
    return error_of_all(run_ranks(ranks, [&](Communicator& c) {
      c.set_purpose(c.place().rank == ranks - 1 ? "the statistics" : "batch 12");
      call(c);
      require(false, "an error");
    }));
  };
  std::array<std::byte, 9> bytes{};
  CHECK(differ(3,
               [&](Communicator& c) {
                 c.broadcast({bytes.data(), c.place().rank == 2 ? 9U : 8U}, 0);
               }) ==
        "ranks differ: rank 0 (" + host +
            ") calls the broadcast of 8 bytes by rank 0, batch 12; rank 2 (" + host +
            ") calls the broadcast of 9 bytes by rank 0, the statistics. All ranks must run "
            "the same program with the same options and data");
  CHECK(differ(2, [&](Communicator& c) {
          c.broadcast(bytes, c.place().rank);
        }).find("calls the broadcast of 9 bytes by rank 1, the statistics") != std::string::npos);
  CHECK(differ(2, [&](Communicator& c) {
          if (c.place().rank == 1)
            c.broadcast(bytes, 0);
          else
            (void)gather_from_all(c, 1);
        }).find("calls the gathering of 8 bytes, batch 12; rank 1") != std::string::npos);
}

TEST_CASE("TCP: a roll call is one of all ranks or gives its failure to the others") {
  for (const auto& end : run_ranks(3, [](Communicator& c) { c.call_roll("a failure"); }))
    CHECK(end.code == 0);
  for (const int failed : {0, 2})
    CHECK(error_of_all(run_ranks(3, [&](Communicator& c) {
            if (c.place().rank == failed) c.call_roll("a failure");
            (void)gather_from_all(c, 1);
          })).find("a failure; rank ") == 0);
}

TEST_CASE("TCP: a rank that ends its program before the others is named") {
  const auto ends = run_ranks(3, [](Communicator& c) {
    if (c.place().rank != 1) (void)gather_from_all(c, 1);
  });
  CHECK(ends[1].code == static_cast<int>(ExitCode::ranks));  // its destructor has the same error
  for (const std::size_t rank : {0U, 2U}) {
    CHECK(ends[rank].code == static_cast<int>(ExitCode::ranks));
    CHECK(ends[rank].text.find("rank 1 (" + host_name() +
                               ") calls the end, the end of the program") != std::string::npos);
  }
}

TEST_CASE("TCP: after an error every call has the same error") {
  const auto ends = run_ranks(2, [](Communicator& c) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(1 + c.place().rank));
    std::string first;
    try {
      c.broadcast(bytes, 0);
    } catch (const RanksError& error) {
      first = error.what();
    }
    require(first.find("ranks differ") == 0, first);
    for (int call = 0; call < 3; ++call) {
      try {
        if (call == 0) c.progress();
        if (call == 1) c.broadcast(bytes, 0);
        if (call == 2) (void)gather_from_all(c, 1);
      } catch (const RanksError& error) {
        require(error.what() == first, error.what());
        continue;
      }
      require(false, "an error in call " + std::to_string(call));
    }
  });
  check_all_well(ends);
}

TEST_CASE("TCP: operands that do not fit are refused before anything is sent") {
  check_all_well(run_ranks(2, [](Communicator& c) {
    std::array<std::byte, 1> one{};
    int refused = 0;
    for (int call = 0; call < 3; ++call) {
      try {
        if (call == 0) c.gather(one, {}, one);
        if (call == 1) c.broadcast(one, 2);
        if (call == 2) c.broadcast(one, -1);
      } catch (const ShapeError&) {
        ++refused;
      }
    }
    require(refused == 3, std::to_string(refused) + " refused");
    c.broadcast(one, 1);
  }));
}

TEST_CASE("TCP: the destructor waits for the other ranks") {
  const auto ends = run_ranks(3, [](Communicator& c) {
    if (c.place().rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
  });
  check_all_well(ends);
  for (const Ended& end : ends) CHECK(end.seconds >= 0.4);
}

}  // namespace
}  // namespace learn
