#include "framework/distributed/cuda/nccl_library.h"

#include "framework/core/error.h"
#include "framework/runtime/cuda/shared_library.h"
#include "framework/runtime/library_search.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/core.h>

#include <string_view>

namespace learn::cuda {
namespace nccl {
namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr int kOldest = 21800;  // the first whose communicators all can be finalized and aborted

std::string package() { return pip_package("nccl", CUDART_VERSION / 1000); }

/// The loaded file that has a function.
Dl_info object_of(void* function) {
  Dl_info info{};
  (void)dladdr(function, &info);
  return info;
}

class Library {
 public:
  Library() {
    auto* const get_version = library_.function<GetVersion>("ncclGetVersion");
    const Dl_info info = object_of(reinterpret_cast<void*>(get_version));
    base_ = info.dli_fbase;
    file_ = info.dli_fname != nullptr ? info.dli_fname : "";
    (void)get_version(&version_);
    if (version_ < kOldest)
      fail<DeviceError>(
          "{} is NCCL {}, but 2.18 or newer is needed: install it (pip install {}) or put its "
          "folder first in LD_LIBRARY_PATH",
          file_,
          version_text(version_),
          package());
  }

  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  /// Null if the library does not have it. Functions of another copy of NCCL are not mixed in.
  template <class Function>
  [[nodiscard]] Function* optional(const char* symbol) {
    auto* const found = library_.optional_function<Function>(symbol);
    return object_of(reinterpret_cast<void*>(found)).dli_fbase == base_ ? found : nullptr;
  }
  template <class Function>
  void find(Function*& to, const char* symbol) {
    to = optional<Function>(symbol);
    if (to == nullptr)
      fail<DeviceError>("{} is NCCL {}, but has no {}: install a complete one (pip install {})",
                        file_,
                        version_text(version_),
                        symbol,
                        package());
  }

 private:
  SharedLibrary library_{kName, "", package()};
  void* base_ = nullptr;
  std::string file_;
  int version_ = 0;
};

Api load() {
  Library library;
  Api api{.version = library.version(), .file = library.file()};
  library.find(api.error_string, "ncclGetErrorString");
  library.find(api.last_error, "ncclGetLastError");
  library.find(api.get_unique_id, "ncclGetUniqueId");
  library.find(api.comm_init_rank_config, "ncclCommInitRankConfig");
  library.find(api.comm_get_async_error, "ncclCommGetAsyncError");
  library.find(api.comm_finalize, "ncclCommFinalize");
  library.find(api.comm_destroy, "ncclCommDestroy");
  library.find(api.comm_abort, "ncclCommAbort");
  library.find(api.all_reduce, "ncclAllReduce");
  library.find(api.all_gather, "ncclAllGather");
  library.find(api.broadcast, "ncclBroadcast");
  library.find(api.group_start, "ncclGroupStart");
  library.find(api.group_end, "ncclGroupEnd");
  api.comm_register = library.optional<CommRegister>("ncclCommRegister");
  api.comm_deregister = library.optional<CommDeregister>("ncclCommDeregister");
  return api;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string error_text(Result result, Comm comm) {
  const std::string_view last = api().last_error(comm);
  return fmt::format(
      "{}{}{}", api().error_string(result), last.empty() ? "" : ": ", last.substr(0, 500));
}

}  // namespace nccl

NcclReport nccl_report() {
  try {
    const nccl::Api& api = nccl::api();
    return {.version = nccl::version_text(api.version), .file = api.file};
  } catch (const DeviceError& error) {
    return {.reason = error.what()};
  }
}

}  // namespace learn::cuda
