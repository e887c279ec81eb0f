// Compares the declarations of nccl_api.h, and the numbers of the fake NCCL, with NCCL's header,
// where there is one.
#include "framework/distributed/cuda/nccl_api.h"
#include "tests/lab/cuda/fake/nccl_types.h"

#if __has_include(<nccl.h>)
#include <nccl.h>

#include <array>
#include <cstddef>
#include <type_traits>

namespace learn::cuda::nccl {
namespace {

/// How a type is passed: kind and size.
struct Passed {
  int kind = 0;
  std::size_t size = 0;
  bool operator==(const Passed&) const = default;
};
template <class T>
constexpr Passed kPassed{std::is_pointer_v<T>                         ? 1
                         : std::is_enum_v<T> || std::is_integral_v<T> ? 2
                                                                      : 3,
                         sizeof(T)};

template <class Function>
struct Signature;
template <class R, class... A>
struct Signature<R(A...)> {
  static constexpr std::array<Passed, 1 + sizeof...(A)> value{kPassed<R>, kPassed<A>...};
};
template <class Own, class Real>
constexpr bool kSame = Signature<Own>::value == Signature<Real>::value;

static_assert(kSame<GetVersion, decltype(ncclGetVersion)>);
static_assert(kSame<GetErrorString, decltype(ncclGetErrorString)>);
static_assert(kSame<GetLastError, decltype(ncclGetLastError)>);
static_assert(kSame<GetUniqueId, decltype(ncclGetUniqueId)>);
static_assert(kSame<CommInitRankConfig, decltype(ncclCommInitRankConfig)>);
static_assert(kSame<CommGetAsyncError, decltype(ncclCommGetAsyncError)>);
static_assert(kSame<CommEnd, decltype(ncclCommFinalize)>);
static_assert(kSame<CommEnd, decltype(ncclCommDestroy)>);
static_assert(kSame<CommEnd, decltype(ncclCommAbort)>);
static_assert(kSame<AllReduce, decltype(ncclAllReduce)>);
static_assert(kSame<AllGather, decltype(ncclAllGather)>);
static_assert(kSame<Broadcast, decltype(ncclBroadcast)>);
static_assert(kSame<Group, decltype(ncclGroupStart)>);
static_assert(kSame<Group, decltype(ncclGroupEnd)>);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
static_assert(kSame<CommRegister, decltype(ncclCommRegister)>);
static_assert(kSame<CommDeregister, decltype(ncclCommDeregister)>);
#endif

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(static_cast<int>(Result::success) == ncclSuccess);
static_assert(static_cast<int>(Result::unhandled_cuda_error) == ncclUnhandledCudaError);
static_assert(static_cast<int>(Result::remote_error) == ncclRemoteError);
static_assert(static_cast<int>(Result::in_progress) == ncclInProgress);
static_assert(static_cast<int>(Type::u8) == ncclUint8);
static_assert(static_cast<int>(Type::f16) == ncclFloat16);
static_assert(static_cast<int>(Type::f32) == ncclFloat32);
static_assert(static_cast<int>(Type::f64) == ncclFloat64);
static_assert(static_cast<int>(Type::bf16) == ncclBfloat16);
static_assert(static_cast<int>(Op::sum) == ncclSum);

template <class Own, class Real>
constexpr bool equal(Own own, Real real) {
  return static_cast<int>(own) == static_cast<int>(real);
}
static_assert(equal(fakecuda::kNcclSuccess, ncclSuccess));
static_assert(equal(fakecuda::kNcclSystemError, ncclSystemError));
static_assert(equal(fakecuda::kNcclInvalidArgument, ncclInvalidArgument));
static_assert(equal(fakecuda::kNcclInvalidUsage, ncclInvalidUsage));
static_assert(equal(fakecuda::kNcclRemoteError, ncclRemoteError));
static_assert(equal(fakecuda::kNcclInProgress, ncclInProgress));
static_assert(equal(fakecuda::kNcclU8, ncclUint8) && equal(fakecuda::kNcclF16, ncclFloat16));
static_assert(equal(fakecuda::kNcclF32, ncclFloat32) && equal(fakecuda::kNcclF64, ncclFloat64));
static_assert(equal(fakecuda::kNcclBf16, ncclBfloat16) && equal(fakecuda::kNcclSum, ncclSum));

static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
static_assert(Config{}.cga_cluster_size == NCCL_CONFIG_UNDEF_INT);
static_assert(offsetof(Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(Config, cga_cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(Config, min_ctas) == offsetof(ncclConfig_t, minCTAs));
static_assert(offsetof(Config, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(Config, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(Config, split_share) == offsetof(ncclConfig_t, splitShare));
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
static_assert(offsetof(Config, traffic_class) == offsetof(ncclConfig_t, trafficClass));
#endif

constexpr ncclConfig_t kReal = NCCL_CONFIG_INITIALIZER;
static_assert(Config{}.magic == kReal.magic && Config{}.net_name == kReal.netName);

}  // namespace
}  // namespace learn::cuda::nccl
#endif
