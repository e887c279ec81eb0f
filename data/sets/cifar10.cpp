#include "data/sets/cifar10.h"

#include "data/sets/synthetic10.h"
#include "framework/core/error.h"
#include "framework/io/digest.h"

#include <array>
#include <span>
#include <sstream>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kPlane = kSide * kSide;
constexpr std::int64_t kPixels = 3 * kPlane;

struct NamedFile {
  const char* name;
  std::int64_t records;
  const char* md5;
};

// MD5 of the published files, from the table in github.com/rai-project/dldataset (vision/).
constexpr std::array<NamedFile, 5> kTrain10{
    {{"data_batch_1.bin", 10'000, "5dd7e06a14cb22eb9f671a540d1b7c25"},
     {"data_batch_2.bin", 10'000, "5ea93a67294ea407fff1d09f752e9692"},
     {"data_batch_3.bin", 10'000, "942cd6a4bcdd0dd3c604fbe906cb4421"},
     {"data_batch_4.bin", 10'000, "ae636b3ba5c66a11e91e8cb52e771fcb"},
     {"data_batch_5.bin", 10'000, "53f37980c15c3d472c316c40844f3f0d"}}};
constexpr std::array<NamedFile, 1> kTest10{
    {{"test_batch.bin", 10'000, "803d5f7f4d78ea53de84dbe85f74fb6d"}}};
constexpr std::array<NamedFile, 1> kTrain100{
    {{"train.bin", 50'000, "6172c7755cfe09b2fe270c85cebc1b15"}}};
constexpr std::array<NamedFile, 1> kTest100{
    {{"test.bin", 10'000, "4499cfba6c016c1be1438163640a0898"}}};

std::vector<std::string> cifar_names() {
  return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

std::vector<std::uint8_t> read_whole(const FileTree& tree, const fs::path& file) {
  if (!tree.has_file(file))
    fail<DataError>("'{}' is missing: unpack the whole archive", tree.text(file));
  try {
    return tree.read(file);
  } catch (const DataError& error) {
    fail<DataError>("cannot read '{}': {}", tree.text(file), error.what());
  }
}

/// Reads one class name per line; ignores empty lines at the end.
std::vector<std::string> read_names(const FileTree& tree, const char* file, std::size_t wanted) {
  const std::vector<std::uint8_t> bytes = read_whole(tree, file);
  std::istringstream in(std::string(bytes.begin(), bytes.end()));
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  if (names.size() != wanted)
    fail<DataError>("'{}' has {} class names, expected {}", tree.text(file), names.size(), wanted);
  check_class_names(names, tree.text(file));
  return names;
}

/// Reads the files of a split in order; sets `published` to false if one differs from the published
/// file.
Dataset read(const FileTree& tree,
             const char* set,
             std::span<const NamedFile> files,
             const CifarFormat& format,
             bool verify,
             bool& published) {
  Dataset out;
  out.height = out.width = kSide;
  std::int64_t images = 0;
  for (const NamedFile& file : files) images += file.records;
  out.pixels.reserve(static_cast<std::size_t>(images * kPixels));
  out.labels.reserve(static_cast<std::size_t>(images));
  published = true;
  for (const NamedFile& file : files) {
    const std::vector<std::uint8_t> bytes = read_whole(tree, file.name);
    add_cifar_records(bytes, tree.text(file.name), format, file.records, out);
    const std::string md5 = md5_hex(bytes);
    if (md5 == file.md5) continue;
    published = false;
    if (verify)
      fail<DataError>(
          "'{}' is not {}'s: its MD5 is {}, the published one {}. If it is damaged, download it "
          "again; if it contains other images in this layout, append ':verify=false' to the name "
          "or path of the data",
          tree.text(file.name),
          set,
          md5,
          file.md5);
  }
  return out;
}

}  // namespace

bool holds_cifar(const FileTree& tree) {
  return tree.has_file(kCifar10Archive.file) || tree.has_file(kCifar100Archive.file);
}

void refuse_cifar_pickles(const FileTree& tree) {
  const bool ten = tree.has_file("data_batch_1") && tree.has_file("test_batch");
  if (!ten && !(tree.has_file("meta") && tree.has_file("train") && tree.has_file("test"))) return;
  const CifarArchive& binary = ten ? kCifar10Archive : kCifar100Archive;
  fail<DataError>(
      "'{}' is the Python version of {} (pickles), which is not supported: get the binary version, "
      "{}, or convert it to an .npz file (framework/docs/data.md has the Python code)",
      tree.text(),
      ten ? "CIFAR-10" : "CIFAR-100",
      binary.url);
}

void add_cifar_records(std::span<const std::uint8_t> bytes,
                       const std::string& file,
                       const CifarFormat& format,
                       std::int64_t records,
                       Dataset& dataset) {
  const std::int64_t record = format.label_bytes + kPixels;
  if (static_cast<std::int64_t>(bytes.size()) != records * record)
    fail<DataError>("'{}' has {} bytes, expected {}: unpack the archive again",
                    file,
                    bytes.size(),
                    records * record);
  std::size_t to = dataset.pixels.size();
  dataset.pixels.resize(to + static_cast<std::size_t>(records * kPixels));
  for (std::int64_t r = 0; r < records; ++r) {
    const std::int64_t offset = r * record + format.label_at;
    const std::uint8_t label = bytes[static_cast<std::size_t>(offset)];
    if (label >= format.classes)
      fail<DataError>("'{}': record {} (byte {}) has label {}, expected 0 to {}",
                      file,
                      r,
                      offset,
                      label,
                      format.classes - 1);
    dataset.labels.push_back(label);
    const std::uint8_t* red = &bytes[static_cast<std::size_t>(r * record + format.label_bytes)];
    for (std::int64_t p = 0; p < kPlane; ++p)
      for (std::int64_t c = 0; c < 3; ++c) dataset.pixels[to++] = red[c * kPlane + p];
  }
}

std::string cifar10_name(bool published, const std::vector<std::string>& classes) {
  if (published && classes == cifar_names()) return "cifar10";
  return !published && classes == synthetic_classes() ? "synthetic10-files" : "cifar10-layout";
}

Dataset read_cifar10(const FileTree& tree, Split split, const CifarOptions& options) {
  const std::span<const NamedFile> files =
      split == Split::train ? std::span<const NamedFile>(kTrain10) : kTest10;
  bool published = false;
  Dataset out = read(tree,
                     "CIFAR-10",
                     files,
                     {.label_bytes = 1, .label_at = 0, .classes = 10},
                     options.verify,
                     published);
  out.split = split;
  out.classes = read_names(tree, "batches.meta.txt", 10);
  out.name = cifar10_name(published, out.classes);
  out.synthetic = out.name == "synthetic10-files";
  return out;
}

Dataset read_cifar100(const FileTree& tree, Split split, const CifarOptions& options) {
  const std::span<const NamedFile> files =
      split == Split::train ? std::span<const NamedFile>(kTrain100) : kTest100;
  bool published = false;
  Dataset out = read(tree,
                     "CIFAR-100",
                     files,
                     {.label_bytes = 2, .label_at = 1, .classes = 100},
                     options.verify,
                     published);
  out.name = published ? "cifar100" : "cifar100-layout";
  out.split = split;
  out.classes = read_names(tree, "fine_label_names.txt", 100);
  return out;
}

}  // namespace learn::data
