#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/io/digest.h"
#include "framework/tensor/factory.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <fstream>
#include <string>
#include <vector>

using namespace learn;

namespace {

/// Like a training's state: tensors of one shape, numbers and a text.
struct State {
  Arena arena{"test", cpu_pages()};
  Tensor momentum = uniform(arena, {4, 8}, DType::f32, -1, 1, 1);
  Tensor variance = uniform(arena, {4, 8}, DType::f32, -1, 1, 2);
  std::int64_t epoch = 3;
  double scale = 0.3;
  std::string order = "adamw \"beta\"=0.9\n";

  void visit_state(StateVisitor& visitor) {
    visitor.visit("momentum", momentum);
    visitor.visit("variance", variance);
    visitor.visit("epoch", epoch);
    visitor.visit("scale", scale);
    visitor.visit("order", order);
  }
};

std::string state_file(const TemporaryFolder& folder) {
  State state;
  save_state(folder / "state",
             [&](StateVisitor& v) { state.visit_state(v); },
             {{"learn.normalization", "0.49 0.48 0.45 0.25 0.24 0.26"}});
  return read_text_file(folder / "state");
}

/// The error that opening a file of these bytes ends with; empty if it opens.
std::string opening(const TemporaryFolder& folder, const std::string& bytes) {
  const auto path = folder / "changed";
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    const SafetensorsFile file(path);
    return {};
  } catch (const CheckpointError& e) {
    return e.what();
  }
}

std::string flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

std::size_t data_begin_of(const std::string& bytes) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 8; ++i)
    size |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return 8 + size;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(from.size() == to.size());
  return text.replace(at, from.size(), to);
}

/// Makes a file of the time when the hash did not cover the header.
std::string older_file(const std::string& data, const std::string& extra = {}) {
  Digest hash(Digest::Kind::sha256);
  hash.update(std::as_bytes(std::span(data)));
  const std::string header =
      fmt::format(R"({{"__metadata__":{{"learn.kind":"weights",{}"learn.payload_sha256":"{}"}},)"
                  R"("w":{{"dtype":"U8","shape":[{}],"data_offsets":[0,{}]}}}})",
                  extra,
                  hash.hex(),
                  data.size(),
                  data.size());
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

}  // namespace

TEST_CASE("no flipped bit of a state's file goes unnoticed") {
  const TemporaryFolder folder;
  const std::string good = state_file(folder);
  REQUIRE(opening(folder, good).empty());
  const std::size_t header_bits = 8 * data_begin_of(good);
  std::vector<std::size_t> accepted;
  for (std::size_t bit = 0; bit < header_bits; ++bit)
    if (opening(folder, flipped(good, bit)).empty()) accepted.push_back(bit);
  constexpr std::uint64_t kSeed = 20261123;
  INFO("seed ", kSeed);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::size_t bit = header_bits + random4(kSeed, RandomPurpose::test, i, 0).v[0] %
                                              (8 * good.size() - header_bits);
    if (opening(folder, flipped(good, bit)).empty()) accepted.push_back(bit);
  }
  CHECK(accepted == std::vector<std::size_t>{});
}

TEST_CASE("the hash covers the last byte of a large file") {
  const TemporaryFolder folder;
  Arena arena{"test", cpu_pages()};
  const Tensor large = full(arena, {(5 << 18) + 3}, DType::f32, 1);  // 5 MiB and a bit
  write_safetensors(folder / "large", std::vector<NamedTensor>{{"large", large}});
  const std::string good = read_text_file(folder / "large", std::size_t{1} << 23U);
  REQUIRE(opening(folder, good).empty());
  for (const std::size_t megabytes : {0U, 1U, 4U})
    CHECK_FALSE(opening(folder, flipped(good, 8 * (good.size() - 1 - (megabytes << 20U)))).empty());
}

TEST_CASE("a header that was rewritten is refused: other texts, tensors exchanged, no hash") {
  const TemporaryFolder folder;
  const std::string good = state_file(folder);
  const auto refused = [&](const std::string& bytes) {
    return opening(folder, bytes).find("is damaged") != std::string::npos;
  };
  CHECK(refused(replaced(good, "0.49 0.48", "0.48 0.49")));
  CHECK(refused(replaced(good, R"("state.epoch":"3")", R"("state.epoch":"1")")));
  CHECK(refused(replaced(good, "learn.sha256", "other.sha256")));
  // The key with an escape, in a header of the same length.
  const std::string key = R"("learn.sha256":)";
  const std::string space = "0.49 ";
  std::string escaped = good;
  escaped.replace(escaped.find(key), key.size(), R"("learn.sha25\u0036":)");
  escaped.erase(escaped.find(space), space.size());
  CHECK(opening(folder, escaped).find("is damaged: its header was changed (") != std::string::npos);
  CHECK(refused(replaced(good, "learn.format\":\"2\"", "learn.format\":\"3\"")));

  // Two tensors of one shape under each other's name.
  std::string exchanged = replaced(good, "\"momentum\":{", "\"velocity\":{");
  exchanged = replaced(exchanged, "\"variance\":{", "\"momentum\":{");
  CHECK(refused(replaced(exchanged, "\"velocity\":{", "\"variance\":{")));
}

TEST_CASE("a file that another program made of ours is read if it leaves both keys out") {
  const TemporaryFolder folder;
  std::string other = state_file(folder);
  other = replaced(other, "learn.format", "other.format");
  CHECK_FALSE(opening(folder, other).empty());
  other = replaced(other, "learn.sha256", "other.sha256");
  CHECK(opening(folder, other).empty());
}

TEST_CASE("files whose hash covers the data alone are still read, and compared with it") {
  const TemporaryFolder folder;
  const std::string old = older_file("0123456789abcdef");
  CHECK(opening(folder, old).empty());
  for (std::size_t bit = 8 * data_begin_of(old); bit < 8 * old.size(); ++bit)
    REQUIRE(opening(folder, flipped(old, bit)).find("is damaged") != std::string::npos);
}

TEST_CASE("data read from an older file are written without its hash") {
  const TemporaryFolder folder;
  std::ofstream(folder / "old", std::ios::binary) << older_file("01234567");
  const Metadata metadata = SafetensorsFile(folder / "old").metadata();
  State state;
  write_safetensors(folder / "new", std::vector<NamedTensor>{{"m", state.momentum}}, metadata);
  const SafetensorsFile file(folder / "new");
  CHECK(file.metadata().at("learn.kind") == "weights");
  CHECK_FALSE(file.metadata().contains("learn.payload_sha256"));
}

TEST_CASE("the hash of a file is the SHA-256 of its bytes with zeros in the hash's place") {
  const TemporaryFolder folder;
  std::string bytes = state_file(folder);
  const std::string written = SafetensorsFile(folder / "state").metadata().at("learn.sha256");
  bytes = replaced(bytes, written, std::string(64, '0'));
  Digest hash(Digest::Kind::sha256);
  hash.update(std::as_bytes(std::span(bytes)));
  CHECK(written == hash.hex());
}
