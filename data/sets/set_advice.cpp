#include "data/sets/set_advice.h"

#include "data/names/names.h"
#include "data/sets/array_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string_view>

namespace learn::data {
namespace {

using Files = std::vector<PassedOver>;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, text) != all.end();
}

std::string name_of(const PassedOver& file) {
  return std::filesystem::path(file.file).filename().string();
}

bool is_archive(const PassedOver& file) {
  return is_one_of(file.kind,
                   {".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar"});
}

bool is_table(const PassedOver& file) { return is_one_of(file.kind, {".csv", ".tsv"}); }

bool is_array(const PassedOver& file) {
  return is_one_of(file.kind,
                   {".h5",
                    ".hdf5",
                    ".mat",
                    ".pkl",
                    ".pickle",
                    ".pt",
                    ".parquet",
                    ".arrow",
                    ".tfrecord",
                    ".tfrecords",
                    ".mdb",
                    ".rec"});
}

bool is_array_that_is_read(const PassedOver& file) { return is_array_name(file.file); }

/// Returns whether a file has a name from CIFAR's Python version, without an extension.
bool is_cifar_for_python(const PassedOver& file) {
  const std::string name = name_of(file);
  return name == "batches.meta" || name.starts_with("data_batch_") ||
         file.file.find("cifar-100-python") != std::string::npos;
}

bool is_unread_image(const PassedOver& file) { return file.may_be_image && !is_archive(file); }

/// Returns up to three names of matching files.
std::string names_of(const Files& files, bool (*such)(const PassedOver&)) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  std::size_t count = 0;
  for (const PassedOver& file : files)
    if (such(file) && ++count <= kNamed)
      text += fmt::format("{}'{}'", count == 1 ? "" : ", ", file.file);
  return text + (count > kNamed ? fmt::format(" and {} more", count - kNamed) : "");
}

}  // namespace

std::string advice_without_classes(const Files& files) {
  const auto any = [&](bool (*such)(const PassedOver&)) {
    return std::ranges::any_of(files, such);
  };
  const auto table = std::ranges::find_if(files, is_table);
  const auto loose = [](const PassedOver& file) { return file.kind == kOutsideOfClasses; };
  if (any(loose))
    return fmt::format(
        "its images ({}) are not in class folders: move them into a folder per class, or, if file "
        "names contain the class, append ':label_regex=REGEX' to the path{}",
        names_of(files, loose),
        table == files.end()
            ? ""
            : fmt::format(", or, if '{0}' contains the labels, use --data '{0}'", table->file));
  if (any(is_array_that_is_read))
    return fmt::format(
        "files of arrays ({}) are read only without folders next to them: move them into a "
        "separate folder",
        names_of(files, is_array_that_is_read));
  if (any(is_cifar_for_python))
    return fmt::format("{} are CIFAR's Python files: get the binary version (--data cifar10)",
                       names_of(files, is_cifar_for_python));
  if (any(is_array))
    return fmt::format(
        "arrays in such files ({}) are not read: write them as .npz or PNG files, or pass them in "
        "a program (data::from_arrays)",
        names_of(files, is_array));
  if (any(is_archive))
    return fmt::format("it contains archives ({}): unpack them and name the folder",
                       names_of(files, is_archive));
  if (any(is_unread_image))
    return fmt::format(
        "it has {}, none of them in a supported format: convert images to JPEG or PNG",
        passed_over_text(files));
  if (table != files.end())
    return fmt::format("if '{0}' lists images and their labels, use --data '{0}'", table->file);
  return files.empty() ? "it is empty" : "it has " + passed_over_text(files);
}

}  // namespace learn::data
