#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace learn {

struct CudaDeviceInfo {
  std::string name;
  std::size_t memory = 0;  ///< bytes
  int major = 0;           ///< compute capability
  int minor = 0;
};

/// The link between two devices, by which NCCL can send without a copy in host memory.
struct CudaLink {
  int first = 0;  ///< number of a device
  int second = 0;
  bool peer_access = false;  ///< each device can read and write the memory of the other
  bool atomics = false;      ///< in hardware, over this link: true for NVLink, false for PCIe
  int rank = 0;              ///< of its performance: 0 for the fastest links of this machine
};

/// A library that the CUDA backend loads when an operation first needs it.
struct CudaLibrary {
  std::string name;
  std::string version;    ///< empty if it cannot be loaded
  std::string reason;     ///< why not; empty otherwise
  std::string file = {};  ///< where it was loaded from; empty if it cannot be loaded
};

/// The state of CUDA on this machine, for `learn doctor` and for the choice of a device.
struct CudaReport {
  std::string driver;   ///< newest CUDA that the driver supports, "13.0"; empty: no driver
  std::string runtime;  ///< CUDA that the backend was built with; empty: no backend
  std::vector<CudaDeviceInfo> devices;
  std::vector<CudaLibrary> libraries;  ///< cuDNN, cuBLASLt; none without the CUDA backend
  std::vector<CudaLink> links = {};    ///< one for each pair of devices, `first` below `second`
};

/// Loads the libraries, which takes a second or two at the first call. Never throws: what is not
/// there is an answer.
[[nodiscard]] CudaReport cuda_report();

}  // namespace learn
