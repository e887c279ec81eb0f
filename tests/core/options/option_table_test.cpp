#include "framework/core/options/option_table.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace learn;

TEST_CASE("numbers must be whole texts, finite and in range") {
  CHECK(parse_integer("42", kPositive) == 42);
  CHECK(parse_real("1e-3", kPositive) == 1e-3);
  for (const char* const bad : {"", "x", "1x", " 1", "1.5", "0", "-1", "9999999999999999999"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_integer(bad, kPositive), UsageError);
  }
  for (const char* const bad : {"", "nan", "inf", "-inf", "0", "-1", "1e999", "0x10", "1,5"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_real(bad, kPositive), UsageError);
  }
  CHECK_THROWS_WITH_AS((void)parse_real("1", kShare), "1 is not in [0, 1)", UsageError);
  CHECK_THROWS_WITH_AS((void)parse_real("0", kPositive), "0 is not above 0", UsageError);
}

TEST_CASE("options store what they are given and print it as TOML") {
  bool flag = false;
  std::int64_t count = 3;
  std::optional<double> share;
  std::string text = "a";
  std::vector<std::string> list;
  std::vector<double> rates;
  std::optional<int> small;
  OptionTable table;
  table.flag("flag", flag, "a flag");
  table.number("count", count, kPositive, "N", "a count");
  table.number("share", share, kShare, "X", "a share");
  table.text("text", text, "T", "a text");
  table.list("list", list, ';', "A;B", "a list");
  table.numbers("rates", rates, kPositive, "X:Y", "rates");
  table.number("small", small, kAnyNumber, "N", "an int");
  CHECK(table.find("count")->help_with_default() == "a count [default: 3]");
  CHECK(table.find("share")->help_with_default() == "a share");
  CHECK(table.find("share")->toml().empty());
  CHECK(table.find("nothing") == nullptr);

  table.find("flag")->set("true");
  table.find("count")->set("7");
  table.find("share")->set("0.25");
  table.find("text")->set("quote \" back \\ bell \a");
  table.find("list")->set("x:a=1,b=2;y");
  table.find("rates")->set("0.01:0.1");
  CHECK(flag);
  CHECK(count == 7);
  CHECK(*share == 0.25);
  CHECK(list == std::vector<std::string>{"x:a=1,b=2", "y"});
  CHECK(rates == std::vector<double>{0.01, 0.1});
  CHECK(table.find("text")->toml() == R"("quote \" back \\ bell \u0007")");
  CHECK(table.find("list")->toml() == R"(["x:a=1,b=2", "y"])");
  CHECK(table.find("rates")->toml() == "[0.01, 0.1]");
  CHECK_THROWS_AS(table.find("rates")->set("0.1:x"), UsageError);
  CHECK_THROWS_WITH_AS(table.find("rates")->set(":"), "':' does not contain a number", UsageError);
  CHECK_THROWS_WITH_AS(table.find("list")->set(";"), "the list is empty", UsageError);
  CHECK_THROWS_AS(table.find("flag")->set("maybe"), UsageError);
  table.find("small")->set("-7");
  CHECK(*small == -7);
  CHECK_THROWS_AS(table.find("small")->set("3000000000"), UsageError);
}

TEST_CASE("an option may be rare, and have a default in words") {
  std::int64_t count = 3;
  std::string text = "a";
  OptionTable table;
  table.number("count", count, kPositive, "N", "a count").when_absent = "as many as fit";
  table.text("text", text, "T", "a text");
  CHECK(table.find("count")->help_with_default() == "a count [default: as many as fit]");
  CHECK(table.find("text")->default_text() == "a");
  table.mark_rare({"text"});
  CHECK(table.find("text")->rare);
  CHECK_FALSE(table.find("count")->rare);
  CHECK_THROWS_AS(table.mark_rare({"txet"}), std::logic_error);
}
