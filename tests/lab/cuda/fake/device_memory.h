#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The memory of the simulated device. It is mapped twice: at the device's addresses, which the
/// program gets and which cannot be accessed (a host dereference faults at that line), and at the
/// simulator's own, `kept(p)`. Every byte has a flag for whether it was written.
///
/// Computations "on the device" run in work given to enqueue() of stream.h, and access their
/// operands through read_view() and write_view(), which check the range.
namespace fakecuda {

/// The bytes [device, device + bytes), all of one allocation and, unless asked otherwise, all
/// written before; else the process stops. `what` names the reader in the report, as in "cudnn: x".
/// Null for no bytes.
[[nodiscard]] const void* read_view(const void* device,
                                    std::size_t bytes,
                                    std::string_view what,
                                    bool all_written = true);
/// Returns the bytes for writing; they count as written from now on. Request only bytes that are
/// then written.
[[nodiscard]] void* write_view(void* device, std::size_t bytes, std::string_view what);
/// The bytes keep their values and count as never written.
void forget_written(void* device, std::size_t bytes);
/// Whether the running work may read bytes that were not written: after a collective is aborted,
/// what was enqueued after it runs on what is there.
[[nodiscard]] bool& reads_leftovers();
/// True if any of the bytes counts as written.
[[nodiscard]] bool any_written(const void* device, std::size_t bytes);
/// Stops unless [device, device + bytes) is within one allocation.
void check_range(const void* device, std::size_t bytes, std::string_view what);

/// One allocation, exact to the byte; empty if there is none.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool holds(std::uintptr_t at, std::size_t bytes) const noexcept {
    return at >= begin && at + bytes <= end;
  }
};

[[nodiscard]] bool is_device(const void* p);
/// The living allocation, of the device or of pinned host memory, that holds `p`.
[[nodiscard]] Range range_of(const void* p);
/// Description of a bad address, for a report: "freed memory", "byte 160 of an allocation of 160",
/// ...
[[nodiscard]] std::string describe(const void* p);

/// Null if the simulated device is full. Addresses are aligned to 256 bytes, no more, and never
/// used twice in a process.
[[nodiscard]] void* allocate_device(std::size_t bytes);
/// Memory of __device__ variables: it lives as long as the process and is not a leak.
[[nodiscard]] void* allocate_for_module(std::size_t bytes);
void free_device(void* p);
[[nodiscard]] void* allocate_pinned(std::size_t bytes);
void free_pinned(void* p);
[[nodiscard]] bool is_pinned(const void* p);
[[nodiscard]] std::size_t device_bytes_used();
[[nodiscard]] std::size_t device_bytes_total();
/// The process ends with a fault if device memory is still allocated.
void check_leaks();

/// Copies between any two memories; unwritten bytes of the device arrive on the host as 0xFF and
/// stay unwritten on the device.
void copy_bytes(void* to, const void* from, std::size_t bytes);
void set_bytes(void* to, int value, std::size_t bytes);

// ---- for the interpreter: no checks

/// The distance from an address of the device to the simulator's view of the same byte.
[[nodiscard]] std::ptrdiff_t kept_offset();
/// The distance from an address of the device to its written-flag, one byte each.
[[nodiscard]] std::ptrdiff_t written_offset();
/// The device's first address.
[[nodiscard]] std::uintptr_t device_base();
/// Bytes of address space the device has.
inline constexpr std::size_t kDeviceSpace = std::size_t{1} << 40U;

}  // namespace fakecuda
