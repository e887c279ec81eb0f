#include "framework/io/safetensors_header.h"

#include "framework/core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace learn::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxTensors = 1'000'000;
constexpr std::size_t kMaxName = 4096;
constexpr std::array<std::pair<std::string_view, DType>, 7> kNames{{{"F32", DType::f32},
                                                                    {"F16", DType::f16},
                                                                    {"BF16", DType::bf16},
                                                                    {"F64", DType::f64},
                                                                    {"I64", DType::i64},
                                                                    {"I32", DType::i32},
                                                                    {"U8", DType::u8}}};

/// Returns untrusted text in a form for the terminal: without control characters, and of limited
/// length.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  if (text.size() > 200) text = text.substr(0, 200) + "...";
  return text;
}

/// Reads the header event by event. The DOM would silently keep the last of two equal keys, which
/// is how one tensor is smuggled in under the name of another; here a second one is an error.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(SafetensorsHeader& header, std::string file)
      : header_(header), file_(std::move(file)) {}

  bool null() override { reject("null"); }
  bool boolean(bool) override { reject("a boolean"); }
  bool number_float(double, const std::string& text) override { reject("the number " + text); }
  bool binary(binary_t&) override { reject("binary data"); }
  bool number_integer(std::int64_t value) override {
    reject("the negative number " + std::to_string(value));
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::shape)
      shape_.push_back(value);
    else if (place_ == Place::offsets)
      offsets_.push_back(value);
    else
      reject("the number " + std::to_string(value));
    if (shape_.size() > Shape::kMaxRank || offsets_.size() > 2) wrong("too many numbers in a list");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      wrong("the number " + std::to_string(value) + " is too large");
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = value;
    } else if (place_ == Place::tensor && key_ == "dtype") {
      const auto* found = std::find_if(
          kNames.begin(), kNames.end(), [&](const auto& entry) { return entry.first == value; });
      if (found == kNames.end()) wrong("dtype '" + value + "' is not supported");
      entry_.dtype = found->second;
    } else {
      reject("the text '" + value + "'");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::top;
    } else if (place_ == Place::top) {
      place_ = name_ == "__metadata__" ? Place::metadata : Place::tensor;
      entry_ = {.name = name_};
      seen_.clear();
    } else {
      reject("an object");
    }
    return true;
  }

  bool key(std::string& value) override {
    if (value.size() > kMaxName) wrong("a name longer than 4096 bytes");
    if (place_ == Place::top) {
      name_ = value;
      if (header_.tensors.contains(value) || (value == "__metadata__" && metadata_seen_))
        wrong("duplicate key '" + value + "'");
      metadata_seen_ = metadata_seen_ || value == "__metadata__";
      if (header_.tensors.size() >= kMaxTensors) wrong("more than a million tensors");
    } else {
      if (place_ == Place::tensor && value != "dtype" && value != "shape" &&
          value != "data_offsets")
        wrong("unknown key '" + value + "'");
      if (std::find(seen_.begin(), seen_.end(), value) != seen_.end() ||
          (place_ == Place::metadata && header_.metadata.contains(value)))
        wrong("duplicate key '" + value + "'");
      if (place_ == Place::tensor) seen_.push_back(value);
      key_ = value;
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      finish_tensor();
      place_ = Place::top;
    } else if (place_ == Place::metadata) {
      place_ = Place::top;
    } else {
      place_ = Place::end;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && key_ == "shape") {
      place_ = Place::shape;
      shape_.clear();
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      place_ = Place::offsets;
      offsets_.clear();
    } else {
      reject("a list");
    }
    return true;
  }
  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& e) override {
    fail<CheckpointError>(
        "'{}': the header is not valid JSON at byte {}: {}", file_, position, printable(e.what()));
  }

 private:
  enum class Place { start, top, metadata, tensor, shape, offsets, end };

  [[noreturn]] void wrong(const std::string& what,
                          SourceLocation at = SourceLocation::current()) const {
    if (name_.empty()) fail_from<CheckpointError>(at, "'{}': header: {}", file_, printable(what));
    fail_from<CheckpointError>(
        at, "'{}': tensor '{}': {}", file_, printable(name_), printable(what));
  }
  [[noreturn]] void reject(const std::string& what,
                           SourceLocation at = SourceLocation::current()) const {
    wrong(what + " where none belongs", at);
  }

  void finish_tensor() {
    if (seen_.size() != 3) wrong("dtype, shape and data_offsets are all required");
    if (offsets_.size() != 2 || offsets_[0] > offsets_[1])
      wrong("data_offsets must be a start and an end");
    std::uint64_t bytes = size_of(entry_.dtype);
    for (const std::uint64_t extent : shape_) {
      if (__builtin_mul_overflow(bytes, extent, &bytes)) wrong("the shape's size overflows");
      entry_.shape.push_back(static_cast<std::int64_t>(extent));
    }
    if (bytes != offsets_[1] - offsets_[0])
      wrong(fmt::format("shape {} of {} needs {} bytes, data_offsets give {}",
                        learn::to_string(entry_.shape),
                        learn::name_of(entry_.dtype),
                        bytes,
                        offsets_[1] - offsets_[0]));
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    header_.tensors.emplace(name_, std::move(entry_));
  }

  SafetensorsHeader& header_;
  std::string file_;
  Place place_ = Place::start;
  std::string name_;
  std::string key_;
  bool metadata_seen_ = false;
  TensorEntry entry_;
  std::vector<std::string> seen_;
  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> offsets_;
};

/// The tensors' bytes must follow each other and fill the data exactly: no aliases, no hidden
/// bytes.
void check_tiling(const SafetensorsHeader& header,
                  std::uint64_t data_size,
                  const std::string& file) {
  std::vector<const TensorEntry*> order;
  for (const auto& [name, entry] : header.tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t at = 0;
  for (const TensorEntry* entry : order) {
    if (entry->begin != at)
      fail<CheckpointError>(
          "'{}': tensor '{}' starts at byte {} of the data, {} {}",
          file,
          entry->name,
          entry->begin,
          entry->begin < at ? "inside another one that ends at" : "leaving a hole from",
          at);
    at = entry->end;
    if (at > data_size)
      fail<CheckpointError>(
          "'{}': tensor '{}' ends at byte {} of the data, which has {}; is the file truncated?",
          file,
          entry->name,
          at,
          data_size);
  }
  if (at != data_size)
    fail<CheckpointError>("'{}': {} bytes follow the last tensor", file, data_size - at);
}

}  // namespace

std::string_view safetensors_name(DType dtype) noexcept {
  for (const auto& [name, value] : kNames)
    if (value == dtype) return name;
  return "?";
}

SafetensorsHeader parse_safetensors_header(std::string_view json,
                                           std::uint64_t data_size,
                                           const std::string& file) {
  SafetensorsHeader header;
  HeaderReader reader(header, file);
  // A byte order mark would be skipped by the parser; the format does not allow one.
  if (json.empty() || json.front() == '\xEF')
    fail<CheckpointError>("'{}': the header does not start with a JSON object", file);
  Json::sax_parse(json.begin(), json.end(), &reader);
  check_tiling(header, data_size, file);
  return header;
}

std::string write_safetensors_header(const std::vector<TensorEntry>& tensors,
                                     const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const TensorEntry& entry : tensors)
    header[entry.name] = {
        {"dtype", safetensors_name(entry.dtype)},
        {"shape", std::vector<std::int64_t>(entry.shape.begin(), entry.shape.end())},
        {"data_offsets", {entry.begin, entry.end}}};
  try {
    return header.dump();
  } catch (const Json::exception& e) {
    fail<UsageError>("safetensors: a name or a metadata text is not UTF-8: {}", e.what());
  }
}

}  // namespace learn::detail
