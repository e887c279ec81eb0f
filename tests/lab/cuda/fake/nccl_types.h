#pragma once
#include "framework/distributed/cuda/nccl_api.h"

/// NCCL's types, declared by the framework, and numbers of its interface, which
/// tests/lab/cuda/nccl/header_test.cpp compares with the real header where there is one.
namespace fakecuda {

namespace nccl = learn::cuda::nccl;
using NcclResult = nccl::Result;
using NcclType = nccl::Type;

inline constexpr NcclResult kNcclSuccess{0};
inline constexpr NcclResult kNcclSystemError{2};
inline constexpr NcclResult kNcclInvalidArgument{4};
inline constexpr NcclResult kNcclInvalidUsage{5};
inline constexpr NcclResult kNcclRemoteError{6};
inline constexpr NcclResult kNcclInProgress{7};
inline constexpr NcclResult kNcclTimeout{8};  // since 2.29

inline constexpr NcclType kNcclU8{1};
inline constexpr NcclType kNcclF16{6};
inline constexpr NcclType kNcclF32{7};
inline constexpr NcclType kNcclF64{8};
inline constexpr NcclType kNcclBf16{9};

inline constexpr nccl::Op kNcclSum{0};
inline constexpr unsigned kNcclMagic = 0xcafebeef;

}  // namespace fakecuda
