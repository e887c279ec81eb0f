#include "framework/distributed/mpi/texts.h"

#include "framework/distributed/rank_texts.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace learn;

TEST_CASE("MPI libraries are named by what they print about themselves") {
  CHECK(mpi::library_name(
            "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4") ==
        "Open MPI 4.1.4");
  CHECK(mpi::library_name("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 2022\n") ==
        "MPICH 4.0.2");
  CHECK(mpi::library_name("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : ...") ==
        "MVAPICH 2.3.7");
  CHECK(mpi::library_name("Intel(R) MPI Library 2021.9 for Linux* OS\nmore") ==
        "Intel(R) MPI Library 2021.9 for Linux* OS");
  CHECK(mpi::library_name("Open MPI") == "Open MPI");
  CHECK(mpi::library_name("") == "");
}

TEST_CASE("ranks are named with their hosts, and after eight counted") {
  std::vector<std::string> hosts(10, "nodea");
  hosts[3] = "nodeb";
  CHECK(ranks_text({}, hosts) == "");
  CHECK(ranks_text({3}, hosts) == "rank 3 (nodeb)");
  CHECK(ranks_text({0, 3}, hosts) == "rank 0 (nodea), rank 3 (nodeb)");
  std::vector<int> ranks(10);
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::string text = ranks_text(ranks, hosts);
  CHECK(text.substr(text.size() - 27) == ", rank 7 (nodea) and 2 more");
}

TEST_CASE("the failure after which a rank calls the roll is the error of ranks that differ") {
  const RankCall batch{"rank 0 (nodea)", "the sum of 3 f32 values, training batch 12"};
  const RankCall other{"rank 1 (nodeb)", "the end, the end of the program"};
  const RankCall roll{"rank 2 (nodec)", "NCCL failed at rank 2 (nodec): no memory, " + kRollCall};
  const std::string failure =
      "NCCL failed at rank 2 (nodec): no memory; rank 0 (nodea) answers, but calls the sum of 3 "
      "f32 values, training batch 12";
  CHECK(difference_text(batch, roll) == failure);
  CHECK(difference_text(roll, batch) == failure);
  CHECK(difference_text(batch, other) ==
        "ranks differ: rank 0 (nodea) calls the sum of 3 f32 values, training batch 12; rank 1 "
        "(nodeb) calls the end, the end of the program. All ranks must run the same program with "
        "the same options and data");
}
