#pragma once
#include "framework/distributed/cuda/nccl_api.h"
#include "framework/distributed/device_communicator.h"

#include <string>

namespace learn::cuda {

namespace nccl {

/// The functions that this backend calls.
struct Api {
  int version;       ///< 23203 is 2.32.3
  std::string file;  ///< that it was loaded from
  GetErrorString* error_string;
  GetLastError* last_error;
  GetUniqueId* get_unique_id;
  CommInitRankConfig* comm_init_rank_config;
  CommGetAsyncError* comm_get_async_error;
  CommEnd* comm_finalize;
  CommEnd* comm_destroy;
  CommEnd* comm_abort;
  AllReduce* all_reduce;
  AllGather* all_gather;
  Broadcast* broadcast;
  Group* group_start;
  Group* group_end;
  CommRegister* comm_register;      ///< null before 2.19
  CommDeregister* comm_deregister;  ///< null before 2.19
};

/// Loads NCCL at the first call. Throws DeviceError if it is missing, older than 2.18 or
/// incomplete, with what to install.
[[nodiscard]] const Api& api();

/// "2.32.3" for 23203.
[[nodiscard]] std::string version_text(int version);

/// NCCL's text of an error: its name, and the last message of the library, if there is one.
[[nodiscard]] std::string error_text(Result result, Comm comm);

}  // namespace nccl

/// See `learn::nccl_report`.
[[nodiscard]] NcclReport nccl_report();

}  // namespace learn::cuda
