#include "data/sets/array_set.h"

#include "data/files/decode_files.h"
#include "data/images/resize.h"
#include "data/sets/arrays.h"
#include "data/sets/fixed_parts.h"
#include "framework/core/error.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Returns the words of a name: t10k, labels, idx1, ubyte and gz for "t10k-labels-idx1-ubyte.gz".
std::set<std::string> words_of(const fs::path& file) {
  std::set<std::string> words;
  std::string word;
  for (const char c : file.filename().string() + '.') {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0)
      word += static_cast<char>(std::tolower(letter));
    else if (!word.empty())
      words.insert(std::exchange(word, {}));
  }
  return words;
}

bool has_one_of(const std::set<std::string>& words, std::initializer_list<const char*> wanted) {
  return std::ranges::any_of(wanted, [&](const char* word) { return words.contains(word); });
}

std::vector<fs::path> arrays_in(const FileTree& tree) {
  const std::vector<std::string> listed = tree.files({});
  std::vector<fs::path> files(listed.begin(), listed.end());
  std::erase_if(files, [](const fs::path& file) { return !is_array_name(file); });
  // Programs that unpack MNIST's files keep the packed ones, too.
  const std::set<fs::path> all(files.begin(), files.end());
  std::erase_if(files, [&](const fs::path& file) {
    return file.extension() == ".gz" && all.contains(file.stem());
  });
  return files;
}

}  // namespace

bool holds_arrays(const FileTree& tree) {
  return tree.folders({}).empty() && !arrays_in(tree).empty();
}

ArraySet::ArraySet(const FileTree& tree) : tree_(tree) {
  for (const fs::path& path : arrays_in(tree)) {
    const std::set<std::string> words = words_of(path);
    const Part part = has_one_of(words, {"train"})                        ? Part::train
                      : has_one_of(words, {"valid", "val", "validation"}) ? Part::valid
                      : has_one_of(words, {"test", "t10k"})               ? Part::test
                                                                          : Part::all;
    const bool images = has_one_of(words, {"x", "images", "image", "imgs", "data"});
    if (images == has_one_of(words, {"y", "labels", "label", "targets", "target"}))
      fail<DataError>(
          "'{}': its name does not show its content: name images x or images and labels y or "
          "labels, with train or test, such as 'x_train.npy'",
          tree.text(path));
    Files& files =
        parts_[index(part)].has_value() ? *parts_[index(part)] : parts_[index(part)].emplace();
    fs::path& place = images ? files.images : files.labels;
    if (!place.empty())
      fail<DataError>(
          "'{}' and '{}' have the same purpose: remove one", tree.text(place), tree.text(path));
    place = path;
  }
  std::set<std::int64_t> classes;
  for (std::optional<Files>& files : parts_) {
    if (!files) continue;
    if (files->images.empty() || files->labels.empty())
      fail<DataError>(
          "'{}' has no matching file of {}: both are needed, such as 'x_train.npy' and "
          "'y_train.npy'",
          tree.text(files->images.empty() ? files->labels : files->images),
          files->images.empty() ? "images" : "labels");
    files->values = labels_of(files->labels);
    classes.insert(files->values.begin(), files->values.end());
  }
  classes_.assign(classes.begin(), classes.end());
}

ArrayFile ArraySet::file(const fs::path& path) const {
  try {
    return read_array(tree_.read(path));
  } catch (const DataError& error) {
    fail<DataError>("cannot read '{}': {}", tree_.text(path), error.what());
  }
}

std::vector<std::int64_t> ArraySet::labels_of(const fs::path& path) const {
  const ArrayFile array = file(path);
  const bool whole = array.kind == 'u' || array.kind == 'i' || array.kind == 'b';
  const std::size_t rank = array.shape.size();
  if (!whole || !(rank == 1 || (rank == 2 && array.shape[1] == 1)))
    fail<DataError>(
        "'{}': labels must be whole numbers of shape (N), not {}; in Python, save y.argmax(1) of "
        "one-hot labels",
        tree_.text(path),
        array.text());
  std::vector<std::int64_t> values(static_cast<std::size_t>(array.shape[0]));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = array.whole_number(i);
  return values;
}

Dataset ArraySet::read(Part part) const {
  const Files& files = parts_[index(part)].value();
  ArrayFile images = file(files.images);
  const std::vector<std::int64_t>& shape = images.shape;
  if (images.kind != 'u' || images.bytes != 1 || shape.size() < 3 || shape.size() > 4 ||
      images.data.empty())
    fail<DataError>(
        "'{}': images must be u1 (N, height, width) or (N, height, width, channels), not {}; in "
        "Python, save them as np.uint8, from 0 to 255",
        tree_.text(files.images),
        images.text());
  if (shape.size() == 4 && shape[3] > 4 && shape[1] <= 4)
    fail<DataError>("'{}': {} has its channels first: in Python, save x.transpose(0, 2, 3, 1)",
                    tree_.text(files.images),
                    images.text());
  if (shape[0] != static_cast<std::int64_t>(files.values.size()))
    fail<DataError>("'{}' has {} images, '{}' {} labels",
                    tree_.text(files.images),
                    shape[0],
                    tree_.text(files.labels),
                    files.values.size());
  Arrays arrays{
      .sample = shape.size() == 4 ? Shape{shape[1], shape[2], shape[3]} : Shape{shape[1], shape[2]},
      .bytes = std::move(images.data),
      .name = tree_.name()};
  for (const std::int64_t label : classes_) arrays.names.push_back(std::to_string(label));
  for (const std::int64_t label : files.values)
    arrays.classes.push_back(std::ranges::lower_bound(classes_, label) - classes_.begin());
  Dataset out = from_arrays(std::move(arrays));
  out.split = part == Part::train || part == Part::all ? Split::train : Split::test;
  return out;
}

DataPair load_arrays(const FileTree& tree, std::int64_t size, const DataOptions& options) {
  const ArraySet set(tree);
  using Part = ArraySet::Part;
  const auto read = [&](Part part) {
    Dataset images = set.read(part);
    return size == 0 ? images : resized(std::move(images), {size, size});
  };
  const auto first_of = [&](std::initializer_list<Part> parts) {
    const auto* const found = std::ranges::find_if(parts, [&](Part part) { return set.has(part); });
    return found == parts.end() ? Part::all : *found;
  };
  if (options.evaluation)
    return for_evaluation(read(first_of({Part::test, Part::valid, Part::train})), options);
  const Part training = first_of({Part::train});
  if (!set.has(training))
    fail<DataError>("'{}' has no training arrays: name them x_train and y_train, or x and y",
                    tree.text());
  Dataset train = read(training);
  const Part validation = first_of({Part::valid, Part::test});
  if (options.valid_fraction || validation == Part::all) {
    DataPair pair = split_off(train, options.valid_fraction.value_or(0.2), options.seed);
    return narrowed(std::move(pair.train), std::move(pair.valid), options);
  }
  DataPair pair{std::move(train), read(validation)};
  check_same_size(pair, "");
  return narrowed(std::move(pair.train), std::move(pair.valid), options);
}

}  // namespace learn::data
