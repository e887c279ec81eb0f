#include "framework/io/safetensors.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/tensor/factory.h"
#include "tests/support/other_device.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

using namespace learn;

namespace {

Arena& arena() {
  static Arena instance("test", cpu_pages());
  return instance;
}

std::vector<double> values_of(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.tensors().at(name);
  Tensor tensor(arena(), entry.shape, entry.dtype);
  file.read(entry, {tensor.raw(), tensor.bytes()});
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(get(tensor, i));
  return values;
}

}  // namespace

TEST_CASE("a file has the bytes that the format prescribes") {
  const TemporaryFolder folder;
  const std::vector<double> ab{1, -2};
  const std::vector<double> c{7};
  write_safetensors(folder / "w.safetensors",
                    std::vector<NamedTensor>{{"ab", from_values(arena(), {2}, ab)},
                                             {"c", from_values(arena(), {}, c, DType::i64)}},
                    {{"format", "pt"}});
  const std::string bytes = read_text_file(folder / "w.safetensors");
  // The hash is Python's hashlib's of these bytes with 64 zeros in its place.
  const std::string header = R"({"__metadata__":{"format":"pt","learn.format":"2","learn.sha256":")"
                             "4201fd34eed5a447ef29bf3c412afbe6d6f45d1eaa1bdb10bd47af4817d83626"
                             R"("},"ab":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("c":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})";
  std::string padded = header;
  padded.resize((padded.size() + 7) / 8 * 8, ' ');
  std::string expected(8, '\0');
  expected[0] = static_cast<char>(padded.size());
  expected += padded;
  expected += std::string("\0\0\x80\x3F\0\0\0\xC0\x07\0\0\0\0\0\0\0", 16);
  CHECK(bytes == expected);
}

TEST_CASE("every dtype and shape comes back, with the metadata") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i64, DType::i32, DType::u8})
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0, 5}, Shape{2, 1, 3, 1, 2, 1}}) {
      Tensor tensor(arena(), shape, dtype);
      for (std::int64_t i = 0; i < tensor.elements(); ++i)
        set(tensor, i, static_cast<double>(i + 1));
      tensors.push_back({std::string(name_of(dtype)) + "/" + std::to_string(shape.rank()), tensor});
    }
  const Metadata metadata{{"note", "quote \" newline \n and \xC3\xA9"}, {"empty", ""}};
  write_safetensors(folder / "all", tensors, metadata);

  const SafetensorsFile file(folder / "all");
  CHECK(file.tensors().size() == tensors.size());
  CHECK(file.metadata().at("note") == metadata.at("note"));
  CHECK(file.metadata().at("empty").empty());
  for (const NamedTensor& named : tensors) {
    CAPTURE(named.name);
    const TensorEntry& entry = file.tensors().at(named.name);
    CHECK(entry.dtype == named.tensor.dtype());
    CHECK(entry.shape == named.tensor.shape());
    std::vector<double> values;
    for (std::int64_t i = 0; i < named.tensor.elements(); ++i)
      values.push_back(static_cast<double>(i + 1));
    CHECK(values_of(file, named.name) == values);
  }
}

TEST_CASE("a file without tensors is valid") {
  const TemporaryFolder folder;
  write_safetensors(folder / "none", {});
  CHECK(SafetensorsFile(folder / "none").tensors().empty());
}

TEST_CASE("writing names the tensor it cannot write and leaves no file") {
  const TemporaryFolder folder;
  const Tensor t = zeros(arena(), {1});
  CHECK_THROWS_WITH_AS(
      write_safetensors(folder / "w", std::vector<NamedTensor>{{"a", t}, {"a", t}}),
      doctest::Contains("'a'"),
      UsageError);
  CHECK_THROWS_AS(write_safetensors(folder / "w", std::vector<NamedTensor>{{"\xFF", t}}),
                  UsageError);
  CHECK_THROWS_AS(write_safetensors(folder / "w", {}, {{"k", "\xFF"}}), UsageError);
  CHECK_THROWS_WITH_AS(
      write_safetensors(folder / "w",
                        std::vector<NamedTensor>{{"far", test::on_other_device({1})}}),
      "safetensors: 'far' is on cuda:1; copy it to the host first",
      DeviceError);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("writing again keeps the previous file under its other name") {
  const TemporaryFolder folder;
  const auto write = [&](double value) {
    const std::vector<double> one{value};
    write_safetensors(folder / "last",
                      std::vector<NamedTensor>{{"v", from_values(arena(), {1}, one)}},
                      {},
                      folder / "last.prev");
  };
  write(1);
  CHECK_FALSE(std::filesystem::exists(folder / "last.prev"));
  write(2);
  write(3);
  CHECK(values_of(SafetensorsFile(folder / "last"), "v") == std::vector<double>{3});
  CHECK(values_of(SafetensorsFile(folder / "last.prev"), "v") == std::vector<double>{2});
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("a write that does not end leaves the old file") {
  CHECK_THROWS_AS(AtomicFile("/no such folder/x"), IoError);
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "old");
  {
    AtomicFile unfinished(folder / "x");
    unfinished.write("new");
  }
  CHECK(read_text_file(folder / "x") == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a tensor is read into memory of its size only") {
  const TemporaryFolder folder;
  write_safetensors(folder / "w", std::vector<NamedTensor>{{"a", zeros(arena(), {3})}});
  const SafetensorsFile file(folder / "w");
  std::array<std::byte, 8> small{};
  CHECK_THROWS_WITH_AS(file.read(file.tensors().at("a"), small),
                       doctest::Contains("tensor 'a' has 12 bytes in the file, expected 8"),
                       CheckpointError);
}
