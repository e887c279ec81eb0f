// Data sets in files of arrays: MNIST's idx files and NumPy's.
#include "data/sets/array_set.h"

#include "data/sets/registry.h"
#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <zlib.h>

#include <string>

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

Bytes idx(const std::vector<std::uint32_t>& shape, const Bytes& data) {
  Bytes out{0, 0, 8, static_cast<std::uint8_t>(shape.size())};
  for (const std::uint32_t extent : shape)
    for (int shift = 24; shift >= 0; shift -= 8)
      out.push_back(static_cast<std::uint8_t>(extent >> static_cast<unsigned>(shift)));
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

Bytes npy(const std::string& type,
          const std::string& shape,
          const Bytes& data,
          int version = 1,
          const std::string& order = "False") {
  const std::string header =
      fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", type, order, shape);
  Bytes out{0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<std::uint8_t>(version), 0};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    out.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

Bytes gzip(const Bytes& data) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "x.gz").string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, data.data(), static_cast<unsigned>(data.size()));
  gzclose(file);
  return test::read_bytes(path);
}

/// Images of 2x3 whose first pixel is their number.
Bytes images(std::size_t n) {
  Bytes out(n * 6, 9);
  for (std::size_t i = 0; i < n; ++i) out[6 * i] = static_cast<std::uint8_t>(i);
  return out;
}

Bytes labels(std::size_t n) {
  Bytes out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(i % 3);
  return out;
}

std::string read_error(const Bytes& file) {
  return text_of<DataError>([&] { static_cast<void>(read_array(file)); });
}

std::string load_error(const fs::path& path, const std::string& options = "") {
  return text_of<Error>([&] { static_cast<void>(load(path.string() + options)); });
}

void write_mnist(const fs::path& place) {
  test::write_bytes(place / "train-images-idx3-ubyte.gz", gzip(idx({12, 2, 3}, images(12))));
  test::write_bytes(place / "train-labels-idx1-ubyte.gz", gzip(idx({12}, labels(12))));
  test::write_bytes(place / "t10k-images-idx3-ubyte", idx({6, 2, 3}, images(6)));
  test::write_bytes(place / "t10k-labels-idx1-ubyte", idx({6}, labels(6)));
}

}  // namespace

TEST_CASE("arrays in files: MNIST's, packed or not") {
  const test::TemporaryFolder folder;
  write_mnist(folder.path());
  // Unpacked ones count where both are there.
  test::write_bytes(folder.path() / "t10k-labels-idx1-ubyte.gz", {1, 2, 3});
  const DataPair pair = load(folder.path().string());
  CHECK(pair.train.size() == 12);
  CHECK(pair.valid.size() == 6);
  CHECK(pair.train.height == 2);
  CHECK(pair.train.width == 3);
  CHECK(pair.train.channels == 1);
  CHECK(pair.train.classes == std::vector<std::string>{"0", "1", "2"});
  CHECK(pair.train.image(5)[0] == 5);
  CHECK(pair.train.labels[5] == 2);
  const DataPair split = load(folder.path().string(), {.valid_fraction = 0.25});
  CHECK(split.train.size() + split.valid.size() == 12);
  CHECK(load(folder.path().string(), {.train_limit = 4}).train.size() == 4);
  CHECK(load(folder.path().string() + ":size=4").valid.width == 4);
  const DataPair measured =
      load(folder.path().string(), {.classes = {"2", "1", "0"}, .evaluation = ImageSize{4, 4}});
  CHECK(measured.valid.size() == 6);
  CHECK(measured.valid.labels[2] == 0);
  CHECK(measured.valid.height == 4);
  CHECK(
      contains(load_error(folder.path(), ":channels=1"), "contains arrays: only the option size"));
  CHECK(
      contains(load_error(folder.path() / "t10k-images-idx3-ubyte"), "is one array of a data set"));
}

TEST_CASE("arrays in files: NumPy's, by the words of their names") {
  const test::TemporaryFolder folder;
  const Bytes x = npy("'|u1'", "(9, 1, 2, 3)", images(9));
  test::write_bytes(folder.path() / "all" / "X.npy", x);
  // Labels of any type of whole numbers; the classes are those that there are.
  Bytes y;
  for (int i = 0; i < 9; ++i) {
    const std::uint8_t label[] = {0xFF, 0xFE, 7};
    const std::uint8_t low = label[i % 3];
    y.insert(y.end(), {low, low > 7 ? std::uint8_t{0xFF} : std::uint8_t{0}});
  }
  test::write_bytes(folder.path() / "all" / "my_labels.npy", npy("'<i2'", "(9, 1)", y));
  const DataPair all = load((folder.path() / "all").string());
  CHECK(all.train.size() + all.valid.size() == 9);
  CHECK(all.train.classes == std::vector<std::string>{"-2", "-1", "7"});
  CHECK(all.train.channels == 3);
  const DataPair measured = load((folder.path() / "all").string(),
                                 {.classes = all.train.classes, .evaluation = ImageSize{1, 2}});
  CHECK(measured.valid.size() == 9);
}

TEST_CASE("arrays in files: parts are found") {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const Bytes& file) {
    test::write_bytes(folder.path() / name, file);
  };
  const auto x = [](std::size_t n) {
    return npy("'|u1'", fmt::format("({}, 2, 3)", n), images(n));
  };
  const auto y = [](std::size_t n) { return npy("'|u1'", fmt::format("({},)", n), labels(n), 2); };
  write("train_images.npy", x(9));
  write("train_labels.npy", y(9));
  CHECK(load(folder.path().string()).train.size() + load(folder.path().string()).valid.size() == 9);
  write("test_images.npy", x(4));
  write("test_labels.npy", y(4));
  CHECK(load(folder.path().string()).valid.size() == 4);
  write("val_images.npy", x(6));
  write("val_labels.npy", y(6));
  CHECK(load(folder.path().string()).valid.size() == 6);
  CHECK(load(folder.path().string(), {.classes = {"0", "1", "2"}, .evaluation = ImageSize{2, 3}})
            .valid.size() == 4);
  // Other sizes in the other part.
  write("val_images.npy", npy("'|u1'", "(6, 3, 2)", images(6)));
  CHECK(contains(load_error(folder.path()), "2x3"));
  for (const char* part : {"train", "val"})
    for (const char* what : {"images", "labels"})
      fs::remove(folder.path() / fmt::format("{}_{}.npy", part, what));
  CHECK(contains(load_error(folder.path()), "has no training arrays"));
  // With folders next to them they are not the data set.
  fs::create_directories(folder.path() / "cat");
  CHECK(contains(load_error(folder.path()), "files of arrays ("));
}

TEST_CASE("arrays in files: inconsistencies are reported") {
  const test::TemporaryFolder folder;
  const fs::path& place = folder.path();
  const Bytes x = npy("'|u1'", "(9, 2, 3)", images(9));
  const Bytes y = npy("'|u1'", "(9,)", labels(9));
  test::write_bytes(place / "x.npy", x);
  CHECK(contains(load_error(place), "x.npy' has no matching file of labels: both are needed"));
  test::write_bytes(place / "y.npy", npy("'|u1'", "(8,)", labels(8)));
  CHECK(contains(load_error(place), "x.npy' has 9 images, "));
  CHECK(contains(load_error(place), "y.npy' 8 labels"));
  test::write_bytes(place / "y.npy", npy("'<f4'", "(9,)", Bytes(36)));
  CHECK(contains(load_error(place), "labels must be whole numbers of shape (N), not f4 (9)"));
  test::write_bytes(place / "y.npy", npy("'|u1'", "(9, 3)", Bytes(27)));
  CHECK(contains(load_error(place), "not u1 (9, 3); in Python, save y.argmax(1)"));
  test::write_bytes(place / "y.npy", y);
  CHECK(load_error(place).empty());
  test::write_bytes(place / "x.npy", npy("'<f4'", "(9, 2, 3)", Bytes(216)));
  CHECK(contains(load_error(place), "not f4 (9, 2, 3); in Python, save them as np.uint8"));
  test::write_bytes(place / "x.npy", npy("'|u1'", "(9, 6)", Bytes(54)));
  CHECK(contains(load_error(place), "not u1 (9, 6)"));
  test::write_bytes(place / "x.npy", npy("'|u1'", "(0, 2, 3)", {}));
  CHECK(contains(load_error(place), "not u1 (0, 2, 3)"));
  test::write_bytes(place / "x.npy", npy("'|u1'", "(9, 3, 8, 8)", Bytes(std::size_t{9} * 3 * 64)));
  CHECK(contains(load_error(place), "has its channels first"));
  test::write_bytes(place / "x.npy", {1, 2, 3});
  CHECK(contains(load_error(place), "x.npy': neither an idx file nor a .npy file"));
  test::write_bytes(place / "x.npy", x);
  test::write_bytes(place / "images.npy", x);
  CHECK(contains(load_error(place), "have the same purpose: remove one"));
  fs::remove(place / "images.npy");
  test::write_bytes(place / "other.npy", x);
  CHECK(contains(load_error(place), "other.npy': its name does not show its content"));
}

TEST_CASE("arrays in files: damage and hostile headers are refused") {
  CHECK(read_array(idx({2, 2}, Bytes(4))).shape == std::vector<std::int64_t>{2, 2});
  CHECK(read_array(npy("'>i4'", "(1,)", {0xFF, 0xFF, 0xFF, 0xFE})).whole_number(0) == -2);
  CHECK(read_array(npy("'<u8'", "()", {1, 2, 0, 0, 0, 0, 0, 0})).whole_number(0) == 513);
  CHECK(read_array(npy("'|b1'", "(2,)", {0, 1})).whole_number(1) == 1);
  CHECK(read_error(idx({3, 2}, Bytes(5))) == "damaged: it has 5 bytes for u1 (3, 2)");
  CHECK(read_error(idx({2, 2}, Bytes(5))) == "damaged: it has 5 bytes for u1 (2, 2)");
  CHECK(contains(read_error(idx({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {})),
                 "damaged: it has 0 bytes"));
  CHECK(contains(read_error(npy("'<u8'", "(9223372036854775807, 99999999999999999999)", Bytes(8))),
                 "damaged: it has 8 bytes"));
  Bytes other = idx({1}, {7});
  other[2] = 0x0D;  // floats
  CHECK(read_error(other) == "neither an idx file of bytes nor a .npy file");
  CHECK(read_error({0, 0, 8, 200, 0}) == "neither an idx file of bytes nor a .npy file");
  CHECK(read_error({}) == "neither an idx file nor a .npy file");
  CHECK(contains(read_error(npy("'|O'", "(1,)", {})),
                 "have the unsupported type '|O': save whole numbers"));
  CHECK(contains(read_error(npy("'<U10'", "(1,)", Bytes(40))), "have the unsupported type '<U10'"));
  CHECK(contains(read_error(npy("[('a', '<i4')]", "(1,)", Bytes(4))), "have the unsupported type"));
  CHECK(contains(read_error(npy("'|u1'", "(2, 2)", Bytes(4), 1, "True")), "in Fortran order"));
  for (const char* shape : {"2", "(2", "(x)", "(1,1,1,1,1,1,1,1,1)", "(-1,)"})
    CHECK(read_error(npy("'|u1'", shape, Bytes(2))) == "damaged: invalid .npy header");
  const Bytes good = npy("'|u1'", "(2, 3)", Bytes(6));
  const Bytes packed = gzip(good);
  for (const Bytes& file : {good, packed, idx({2, 3}, Bytes(6))})
    for (std::size_t keep = 0; keep < file.size(); ++keep)
      CHECK_FALSE(
          read_error({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(keep)}).empty());
  CHECK(contains(read_error({packed.begin(), packed.end() - 9}), "damaged gzip file"));
  CHECK(read_error(gzip(packed)) == "neither an idx file nor a .npy file");
}

TEST_CASE("CIFAR's files for Python are refused, with advice") {
  const test::TemporaryFolder folder;
  for (const char* name : {"data_batch_1", "test_batch", "batches.meta"})
    test::write_bytes(folder.path() / "ten" / name, {0x80, 2});
  CHECK(contains(load_error(folder.path() / "ten"), "is the Python version of CIFAR-10 (pickles)"));
  CHECK(contains(load_error(folder.path() / "ten"), "cifar-10-binary.tar.gz"));
  for (const char* name : {"meta", "train", "test"})
    test::write_bytes(folder.path() / "hundred" / name, {0x80, 2});
  CHECK(contains(load_error(folder.path() / "hundred"), "cifar-100-binary.tar.gz"));
}
