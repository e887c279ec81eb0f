#pragma once
#include "framework/core/dtype.h"
#include "framework/core/error.h"
#include "framework/core/regular_file.h"
#include "framework/core/shape.h"
#include "framework/io/file_system.h"
#include "framework/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The safetensors format, https://github.com/huggingface/safetensors: eight bytes of header
/// length, a JSON header that names each tensor with dtype, shape and place, then the tensors'
/// bytes.
namespace learn {

using Metadata = std::map<std::string, std::string>;

/// A host tensor under its name in the file.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Writes the tensors in the given order, each 8-byte aligned, as in the reference implementation.
/// The metadata get `kFormat` and, under `kHash`, the SHA-256 of the whole file, computed with 64
/// zeros instead of the hash, so that every changed bit is detected. A program that rewrites such a
/// file must omit both keys. Atomic (see AtomicFile); `previous`, if given, keeps the old file.
/// Throws IoError; UsageError for two tensors of one name or a name or metadata that is not UTF-8;
/// DeviceError for a tensor that is not in host memory.
void write_safetensors(const std::filesystem::path& path,
                       std::span<const NamedTensor> tensors,
                       Metadata metadata = {},
                       const std::filesystem::path& previous = {},
                       FileSystem& files = disk());
inline constexpr std::string_view kHash = "learn.sha256";
/// Says that there must be a hash: a flipped bit can make one of the two keys unknown, not both.
inline constexpr std::string_view kFormat = "learn.format";
/// Files of format 1 do not name it. Their hash is that of the tensors' bytes alone.
inline constexpr std::string_view kFormatVersion = "2";
inline constexpr std::string_view kPayloadHash = "learn.payload_sha256";

/// A tensor's entry in the header. `begin` and `end` count from the first byte of data.
struct TensorEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// A file open for reading. The constructor checks everything before it allocates much: sizes,
/// UTF-8, JSON of exactly the specified form (no duplicate key, no deeper nesting, no trailing
/// bytes), known dtypes, products without overflow, data that tiles the file without hole or
/// overlap, and the hash: files of `learn` must have one, others need not. Throws CheckpointError
/// that names file and tensor for an invalid file, and IoError for one that cannot be opened or
/// read.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }
  /// By name.
  [[nodiscard]] const std::map<std::string, TensorEntry, std::less<>>& tensors() const noexcept {
    return tensors_;
  }
  /// The bytes of one tensor into memory of exactly its size. Throws IoError, CheckpointError.
  void read(const TensorEntry& entry, std::span<std::byte> into) const;

 private:
  void check_hash(std::string header) const;
  [[noreturn]] void fail_damaged(std::string_view what,
                                 SourceLocation at = SourceLocation::current()) const;

  RegularFile file_;
  std::uint64_t data_begin_ = 0;
  std::uint64_t data_size_ = 0;
  Metadata metadata_;
  std::map<std::string, TensorEntry, std::less<>> tensors_;
};

}  // namespace learn
