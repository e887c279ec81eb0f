#include "apps/learn/info/gpu_ranks.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace learn;

namespace {

constexpr const char* kNvlink = "NVLink (peer access with atomics, performance rank 0)";
constexpr const char* kPcie = "PCIe (peer access without atomics, performance rank 1)";

CudaLink nvlink(int first, int second) {
  return {.first = first, .second = second, .peer_access = true, .atomics = true};
}
CudaLink pcie(int first, int second) {
  return {.first = first, .second = second, .peer_access = true, .rank = 1};
}
CudaLink through_host(int first, int second) { return {.first = first, .second = second}; }

std::string text(const std::vector<CudaLink>& links) { return cli::gpu_links_text(links); }

}  // namespace

TEST_CASE("links of one kind are one group") {
  CHECK(text({}).empty());
  CHECK(text({nvlink(0, 1)}) == std::string("cuda:0-1: ") + kNvlink);
  CHECK(text({nvlink(0, 1), nvlink(0, 2), nvlink(1, 2)}) == std::string("cuda:0-2: ") + kNvlink);
}

TEST_CASE("the slowest links are all others") {
  CHECK(text({nvlink(0, 2), pcie(0, 1), pcie(0, 3), pcie(1, 2), nvlink(1, 3), pcie(2, 3)}) ==
        std::string("cuda:0+2, cuda:1+3: ") + kNvlink + "; all others: " + kPcie);
  CHECK(text({pcie(0, 1), through_host(0, 2), through_host(1, 2)}) ==
        std::string("cuda:0-1: ") + kPcie + "; all others: through host memory (no peer access)");
  CHECK(text({nvlink(0, 1), pcie(0, 2), through_host(1, 2)}) ==
        std::string("cuda:0-1: ") + kNvlink + "; cuda:0+2: " + kPcie +
            "; all others: through host memory (no peer access)");
}

TEST_CASE("links that form no groups are pairs") {
  CHECK(text({nvlink(0, 1), pcie(0, 2), nvlink(1, 2)}) ==
        std::string("cuda:0+1, cuda:1+2: ") + kNvlink + "; all others: " + kPcie);
}

TEST_CASE("ranks of a host use its GPUs") {
  CHECK(cli::gpu_ranks_text(1, {}) == "one on this host: cuda:0");
  CHECK(cli::gpu_ranks_text(8, {}) == "up to 8 on this host: cuda:0 to cuda:7");
  CHECK(cli::gpu_ranks_text(2, Launcher{.rank = 3, .ranks = 4}) ==
        "up to 2 on this host: cuda:0 to cuda:1");
}
