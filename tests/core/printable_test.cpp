#include "framework/core/printable.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;

TEST_CASE("ordinary text is unchanged") {
  for (const char* const text : {"",
                                 "cat",
                                 "two\nlines\tand a tab",
                                 "Flugzeug \xc3\xa4\xc3\xb6",
                                 "\xe7\x8c\xab \xf0\x9f\x90\xb1"})
    CHECK(printable(text) == text);
}

TEST_CASE("control characters of a terminal are made visible") {
  CHECK(printable("\x1b[2Jgone") == "\\x1b[2Jgone");
  CHECK(printable("a\rb\x07\x7f") == "a\\x0db\\x07\\x7f");
  CHECK(printable(std::string("nul\0!", 5)) == "nul\\x00!");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");  // CSI as one character
  CHECK(printable("photo\xe2\x80\xaegpj.exe") == "photo\\xe2\\x80\\xaegpj.exe");  // right to left
}

TEST_CASE(
    "every bidirectional control character is made visible, and its neighbours are unchanged") {
  const auto utf8 = [](unsigned point) {
    return std::string{static_cast<char>(0xE0U | point >> 12U),
                       static_cast<char>(0x80U | (point >> 6U & 0x3FU)),
                       static_cast<char>(0x80U | (point & 0x3FU))};
  };
  for (unsigned point = 0x2010; point < 0x2080; ++point) {
    CAPTURE(point);
    const bool embeds = point >= 0x202A && point <= 0x202E;    // LRE, RLE, PDF, LRO, RLO
    const bool isolates = point >= 0x2066 && point <= 0x2069;  // LRI, RLI, FSI, PDI
    const std::string text = "a" + utf8(point) + "b";
    for (const std::string& shown : {printable(text), printable_line(text)})
      CHECK((shown == text) == !(embeds || isolates));
  }
  CHECK(printable("\u2067x\u2069") == "\\xe2\\x81\\xa7x\\xe2\\x81\\xa9");
  for (unsigned control = 0x80; control < 0xA0; ++control)
    CHECK(printable(std::string{'\xc2', static_cast<char>(control)}).starts_with("\\xc2\\x"));
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
}

TEST_CASE("bytes that are not UTF-8 are made visible") {
  CHECK(printable("\x9b") == "\\x9b");
  CHECK(printable("\xc3") == "\\xc3");           // cut short
  CHECK(printable("\xc3(") == "\\xc3(");         // not continued
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");  // longer than it need be
  CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // half of a pair
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond the last one
}

TEST_CASE("a value in one line has no newline and no tab") {
  CHECK(printable_line("a\n\tb\x1b \xc3\xa9") == "a\\x0a\\x09b\\x1b \xc3\xa9");
  CHECK(printable_line({"\0", 1}) == "\\x00");
}

TEST_CASE("a text in UTF-8 has its other bytes visible, and nothing else changed") {
  CHECK(utf8_text("a\xff\n\x1b \xc3\xa9") == "a\\xff\n\x1b \xc3\xa9");
  CHECK(utf8_text("\xc3") == "\\xc3");
  CHECK(utf8_text("").empty());
}
