#include "data/names/unicode.h"

#include "data/files/file_tree.h"
#include "data/names/class_names.h"
#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;

namespace {

/// "aé€𝄞\n" in UTF-16, after its mark.
const std::vector<std::uint8_t> kLittle{
    0xFF, 0xFE, 'a', 0, 0xE9, 0, 0xAC, 0x20, 0x34, 0xD8, 0x1E, 0xDD, '\n', 0};

std::vector<std::uint8_t> swapped(std::vector<std::uint8_t> bytes) {
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) std::swap(bytes[i], bytes[i + 1]);
  return bytes;
}

}  // namespace

TEST_CASE("texts are UTF-8 or UTF-16, with a mark or without") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "t.txt";
  const auto text = [&](const std::vector<std::uint8_t>& bytes) {
    test::write_bytes(file, bytes);
    return read_text(file);
  };
  const auto error = [&](const std::vector<std::uint8_t>& bytes) {
    return text_of<DataError>([&] { (void)text(bytes); });
  };
  CHECK(text({'a', 0xC3, 0xA9}) == "a\u00e9");
  CHECK(text({0xEF, 0xBB, 0xBF, 'a'}) == "a");
  CHECK(text({'a', 0xE9}) == "a\xE9");
  CHECK(text({}).empty());
  CHECK(text(kLittle) == "a\u00e9\u20ac\U0001d11e\n");
  CHECK(text(swapped(kLittle)) == "a\u00e9\u20ac\U0001d11e\n");
  const std::string name = "'" + file.string() + "': ";
  CHECK(
      contains(error({0xFF, 0xFE, 0x34, 0xD8, 'a', 0}), name + "damaged UTF-16: save it as UTF-8"));
  CHECK(contains(error({0xFF, 0xFE, 'a', 0, 'b'}), "damaged UTF-16"));
  CHECK(contains(error({'a', 0, 'b', 0}), name + "contains zero bytes"));
  CHECK(contains(error({0xFF, 0xFE, 0, 0, 'a', 0, 0, 0}), "contains zero bytes"));
  CHECK(contains(text_of<DataError>([&] { (void)read_text(folder.path() / "no"); }), "no': "));
}

TEST_CASE("blanks of Unicode are taken off both ends") {
  CHECK(trimmed(" \t a b\r\n") == "a b");
  CHECK(trimmed("\u00a0cat\u00a0") == "cat");
  CHECK(trimmed("\u3000\u2003\u200b\ufeffcat dog\u202f\u200b") == "cat dog");
  CHECK(trimmed("\u00a0 \u3000").empty());
  CHECK(trimmed("").empty());
  CHECK(trimmed(" \xE9 ") == "\xE9");
  CHECK(trimmed(" \t") == "");
}

TEST_CASE("similar names are found, with their difference") {
  const auto alike = [](const std::string& a, const std::string& b) {
    return looks_like(a) == looks_like(b);
  };
  CHECK(alike("cat", "cat\u00a0"));
  CHECK(alike("cat", "Cat"));
  CHECK(alike("caf\u00e9", "cafe\u0301"));
  CHECK(alike("New York", "New  York"));
  CHECK(alike("New York", "New\u00a0York"));
  CHECK(alike("cat", "c\u200dat"));
  CHECK(alike("cat", "\uff43\uff41\uff54"));
  CHECK(alike("STRASSE", "stra\u00dfe"));
  CHECK(alike("cat", "\u0441\u0430t"));
  CHECK(alike("T-shirt", "t\u2011shirt"));
  CHECK(alike("men's", "men\u2019s"));
  CHECK(alike("heart", "heart\ufe0f"));
  CHECK_FALSE(alike("cat", "cats"));
  CHECK_FALSE(alike("caf\u00e9", "cafe"));
  CHECK_FALSE(alike("new york", "newyork"));
  CHECK_FALSE(alike("1", "10"));
  CHECK_FALSE(alike("\u30cd", "\u30b3"));
  CHECK(looks_like("\xE9") == "\xE9");

  CHECK(in_ascii("caf\u00e9\n\U0001d11e") == "caf\\u00e9\\x0a\\u1d11e");
  CHECK(in_ascii("a\xE9") == "a\\xe9");
  const auto pairs = alike_names({"cat", "dog", "cat\u00a0", "CAT", "d\u043eg"});
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0] == AlikeNames{"cat", "cat\\u00a0"});
  CHECK(pairs[1] == AlikeNames{"cat", "CAT"});
  CHECK(pairs[2] == AlikeNames{"dog", "d\\u043eg"});
  CHECK(alike_names({"cat", "dog"}).empty());
  CHECK(alike_hint("cat\u00a0", {"dog", "cat"}) ==
        "; 'cat\\u00a0' looks like 'cat' but is a different name");
  CHECK(alike_hint("cow", {"dog", "cat"}).empty());
}
