#include "framework/core/printable.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;

TEST_CASE("what people write stays as it is") {
  for (const char* const text : {"",
                                 "cat",
                                 "two\nlines\tand a tab",
                                 "Flugzeug \xc3\xa4\xc3\xb6",
                                 "\xe7\x8c\xab \xf0\x9f\x90\xb1"})
    CHECK(printable(text) == text);
}

TEST_CASE("what steers a terminal is made visible") {
  CHECK(printable("\x1b[2Jgone") == "\\x1b[2Jgone");
  CHECK(printable("a\rb\x07\x7f") == "a\\x0db\\x07\\x7f");
  CHECK(printable(std::string("nul\0!", 5)) == "nul\\x00!");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");  // CSI as one character
  CHECK(printable("photo\xe2\x80\xaegpj.exe") == "photo\\xe2\\x80\\xaegpj.exe");  // right to left
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
