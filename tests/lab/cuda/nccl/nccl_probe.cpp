// Prints what the NCCL of this machine is, and what it says to a start without a GPU. Exit status
// 77 without NCCL.
#include "framework/core/error.h"
#include "framework/distributed/cuda/nccl_library.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace nccl = learn::cuda::nccl;

int main() {
  const learn::NcclReport report = learn::cuda::nccl_report();
  if (report.version.empty()) {
    std::printf("skipped: %s\n", report.reason.c_str());
    return 77;
  }
  std::printf("version %s\nfile %s\n", report.version.c_str(), report.file.c_str());
  const nccl::Api& api = nccl::api();
  nccl::UniqueId id{};
  std::printf("id %d\n", static_cast<int>(api.get_unique_id(&id)));
  std::printf("register %d\n", api.comm_register != nullptr ? 1 : 0);
  nccl::Comm comm = nullptr;
  nccl::Config config;
  nccl::Result result = api.comm_init_rank_config(&comm, 1, id, 0, &config);
  for (int i = 0; i < 600 && result == nccl::Result::in_progress; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    (void)api.comm_get_async_error(comm, &result);
  }
  std::printf("start %d: %s\n", static_cast<int>(result), nccl::error_text(result, comm).c_str());
  if (comm != nullptr) (void)api.comm_abort(comm);
  return 0;
}
