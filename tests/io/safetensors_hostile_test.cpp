#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/safetensors.h"
#include "framework/tensor/factory.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <fstream>
#include <string>
#include <vector>

using namespace learn;

namespace {

std::string little_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

/// A file with this header and that many bytes of data.
std::string file_of(const std::string& header, std::size_t data = 0) {
  return little_endian(header.size()) + header + std::string(data, '\1');
}

std::string tensor(const std::string& name,
                   const std::string& shape,
                   const std::string& offsets,
                   const std::string& dtype = "F32") {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

/// The error's text, or "accepted".
std::string opening(const std::string& bytes) {
  const TemporaryFolder folder;
  std::ofstream(folder / "hostile.safetensors", std::ios::binary) << bytes;
  try {
    const SafetensorsFile file(folder / "hostile.safetensors");
    return "accepted";
  } catch (const CheckpointError& e) {
    CHECK(std::string(e.what()).find("hostile.safetensors") != std::string::npos);
    return e.what();
  }
}

struct Case {
  const char* name;
  std::string bytes;
  const char* expected;  ///< part of the error's text
};

}  // namespace

TEST_CASE("a file that is too short or claims too much is rejected before anything is allocated") {
  for (const Case& c : std::vector<Case>{
           {"empty", "", "not a safetensors file"},
           {"seven bytes", "1234567", "not a safetensors file"},
           {"header larger than the file",
            little_endian(100) + "{}",
            "is truncated: the header claims 100 bytes, 2 follow"},
           {"cut in a header whose length begins as pickles do",
            little_endian(0x380) + "{\"__metadata__\":",
            "is truncated: the header claims 896 bytes"},
           {"header of 2^63", little_endian(std::uint64_t{1} << 63U) + "{}", "claims"},
           {"header of 2^64-1", std::string(8, '\xFF') + "{}", "claims"},
           {"zip archive", std::string("PK\3\4") + std::string(60, '\7'), "pickle"},
           {"pickle", std::string("\x80\x02}q\x01(X\x02") + std::string(60, '\7'), "pickle"},
           {"empty header", file_of(""), "does not start"},
           {"byte order mark", file_of("\xEF\xBB\xBF{}"), "does not start"},
       }) {
    CAPTURE(c.name);
    CHECK(opening(c.bytes).find(c.expected) != std::string::npos);
  }
}

TEST_CASE("a header that is not exactly the specified JSON is rejected") {
  const std::string deep(1'000'000, '[');
  for (const Case& c : std::vector<Case>{
           {"not JSON", file_of("hello"), "not valid JSON"},
           {"unfinished", file_of("{"), "not valid JSON"},
           {"trailing bytes", file_of("{}x"), "not valid JSON"},
           {"two documents", file_of("{}{}"), "not valid JSON"},
           {"not UTF-8", file_of("{\"a\xFF\":1}"), "not valid JSON"},
           {"a list", file_of("[]"), "a list where none belongs"},
           {"a million lists", file_of(deep), "a list where none belongs"},
           {"nested deeper", file_of(R"({"a":{"dtype":{"x":1}}})"), "an object where none"},
           {"a number for a tensor", file_of(R"({"a":1})"), "the number 1"},
           {"a text for a tensor", file_of(R"({"a":"b"})"), "the text 'b'"},
           {"null", file_of(R"({"a":null})"), "null where none"},
           {"true", file_of(R"({"a":true})"), "a boolean where none"},
           {"unknown key", file_of(R"({"a":{"color":"red"}})"), "unknown key 'color'"},
           {"no offsets", file_of(R"({"a":{"dtype":"F32","shape":[]}})"), "are all required"},
           {"metadata of numbers", file_of(R"({"__metadata__":{"a":1}})"), "the number 1"},
           {"metadata of objects", file_of(R"({"__metadata__":{"a":{}}})"), "an object where none"},
           {"a name that is a text of its own",
            file_of(R"({")" + std::string(4097, 'a') + R"(":{}})"),
            "a name longer than 4096 bytes"},
           {"unknown dtype",
            file_of("{" + tensor("a", "[1]", "[0,4]", "F8_E4M3") + "}", 4),
            "dtype 'F8_E4M3'"},
       }) {
    CAPTURE(c.name);
    const std::string got = opening(c.bytes);
    CAPTURE(got);
    CHECK(got.find(c.expected) != std::string::npos);
    CHECK(got.find('\x1B') == std::string::npos);
  }
}

TEST_CASE("duplicate keys are rejected: they would alias one tensor under another's name") {
  const std::string a = tensor("a", "[1]", "[0,4]");
  for (const Case& c : std::vector<Case>{
           {"tensor twice", file_of(fmt::format("{{{},{}}}", a, a), 4), "duplicate key 'a'"},
           {"dtype twice",
            file_of(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
            "duplicate key 'dtype'"},
           {"metadata twice", file_of(R"({"__metadata__":{},"__metadata__":{}})"), "duplicate key"},
           {"in the metadata",
            file_of(R"({"__metadata__":{"a":"1","a":"2"}})"),
            "duplicate key 'a'"},
           {"escaped to look different",
            file_of("{" + a + "," + tensor("\\u0061", "[1]", "[0,4]") + "}", 4),
            "duplicate key 'a'"},
       }) {
    CAPTURE(c.name);
    CHECK(opening(c.bytes).find(c.expected) != std::string::npos);
  }
}

TEST_CASE("offsets and shapes that do not tile the data are rejected") {
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return "{" + tensor("a", shape, offsets) + "}";
  };
  for (const Case& c : std::vector<Case>{
           {"overlap",
            file_of("{" + tensor("a", "[2]", "[0,8]") + "," + tensor("b", "[2]", "[4,12]") + "}",
                    12),
            "inside another"},
           {"same bytes",
            file_of("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[0,4]") + "}", 4),
            "inside another"},
           {"hole",
            file_of("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[8,12]") + "}",
                    12),
            "leaving a hole"},
           {"hole at the start", file_of(one("[1]", "[4,8]"), 8), "leaving a hole"},
           {"begin after end", file_of(one("[1]", "[4,0]"), 4), "data_offsets must be"},
           {"one offset", file_of(one("[1]", "[4]"), 4), "data_offsets must be"},
           {"three offsets", file_of(one("[1]", "[0,4,8]"), 8), "too many numbers"},
           {"negative", file_of(one("[-1]", "[0,4]"), 4), "negative number"},
           {"fraction", file_of(one("[1.5]", "[0,4]"), 4), "the number 1.5"},
           {"2^64", file_of(one("[1]", "[0,18446744073709551616]"), 4), "18446744073709551616"},
           {"2^63", file_of(one("[9223372036854775808]", "[0,4]"), 4), "too large"},
           {"product overflows",
            file_of(one("[4294967296,4294967296,4294967296]", "[0,0]")),
            "overflows"},
           {"product wraps to zero", file_of(one("[2,4611686018427387904]", "[0,0]")), "overflows"},
           {"shape larger than range", file_of(one("[2]", "[0,4]"), 4), "needs 8 bytes"},
           {"shape smaller than range", file_of(one("[1]", "[0,8]"), 8), "needs 4 bytes"},
           {"rank 7", file_of(one("[1,1,1,1,1,1,1]", "[0,4]"), 4), "too many numbers"},
           {"truncated data", file_of(one("[2]", "[0,8]"), 6), "truncated"},
           {"bytes after the data", file_of(one("[1]", "[0,4]"), 6), "2 bytes follow"},
           {"data without tensors", file_of("{}", 3), "3 bytes follow"},
       }) {
    CAPTURE(c.name);
    const std::string got = opening(c.bytes);
    CAPTURE(got);
    CHECK(got.find(c.expected) != std::string::npos);
  }
}

TEST_CASE("unusual but valid headers are accepted") {
  for (const Case& c : std::vector<Case>{
           {"no tensor", file_of("{}"), ""},
           {"whitespace around", file_of("  {}\n "), ""},
           {"scalar", file_of("{" + tensor("a", "[]", "[0,4]") + "}", 4), ""},
           {"no element", file_of("{" + tensor("a", "[0,9]", "[0,0]") + "}"), ""},
           {"order differs from the data",
            file_of("{" + tensor("b", "[1]", "[4,8]") + "," + tensor("a", "[1]", "[0,4]") + "}", 8),
            ""},
           {"empty name", file_of("{" + tensor("", "[1]", "[0,4]") + "}", 4), ""},
       }) {
    CAPTURE(c.name);
    CHECK(opening(c.bytes) == "accepted");
  }
}

TEST_CASE("control characters of a hostile name do not reach the terminal") {
  const std::string got = opening(file_of(R"({"a\u001b[31m\u0007":1})"));
  CHECK(got.find('\x1B') == std::string::npos);
  CHECK(got.find('\x07') == std::string::npos);
}

TEST_CASE("no cut of a file is accepted") {
  const TemporaryFolder folder;
  Arena arena("test", cpu_pages());
  write_safetensors(folder / "good",
                    std::vector<NamedTensor>{{"w", uniform(arena, {16}, DType::f32, -1, 1, 7)}},
                    {{"k", "v"}});
  const std::string good = read_text_file(folder / "good");
  for (std::size_t keep = 0; keep < good.size(); ++keep) {
    CAPTURE(keep);
    CHECK(opening(good.substr(0, keep)) != "accepted");
  }
}
