#include "framework/core/options/quoting.h"

#include "framework/core/error.h"
#include "framework/core/options/option_table.h"

#include <doctest/doctest.h>

using namespace learn;
using Strings = std::vector<std::string>;

TEST_CASE("an item of a list that is quoted may hold separators and quotes") {
  CHECK(split_quoted("a,b", ',') == Strings{"a", "b"});
  CHECK(split_quoted(",a,,b,", ',') == Strings{"a", "b"});
  CHECK(split_quoted(R"("New York, NY",Boston)", ',') == Strings{"New York, NY", "Boston"});
  CHECK(split_quoted(R"(a,"b ""c""")", ',') == Strings{"a", R"(b "c")"});
  CHECK(split_quoted(R"(5" disk,"")", ',') == Strings{R"(5" disk)", ""});
  CHECK(split_quoted(R"("a;b";c,d)", ';') == Strings{"a;b", "c,d"});
  CHECK(split_quoted("", ',').empty());
  CHECK_THROWS_WITH_AS(
      (void)split_quoted(R"(a,"b)", ','), R"('"b': the closing quote is missing)", UsageError);
  CHECK_THROWS_WITH_AS((void)split_quoted(R"("a"b,c)", ','),
                       R"('"a"b,c': the closing quote must be followed by ',')",
                       UsageError);
}

TEST_CASE("a list that was joined is split into the same items") {
  for (const Strings& items : {Strings{"a", "b"},
                               Strings{"New York, NY", "Boston"},
                               Strings{R"("x")", "", R"(5")", ","},
                               Strings{"a;b"}})
    CHECK(split_quoted(join_quoted(items, ','), ',') == items);
  CHECK(join_quoted({"a", "b;c"}, ',') == "a,b;c");
}

TEST_CASE("an option that is a list takes quoted items") {
  Strings classes;
  OptionTable table;
  table.list("classes", classes, ',', "A,B", "some");
  table.find("classes")->set(R"("New York, NY",Boston)");
  CHECK(classes == Strings{"New York, NY", "Boston"});
  CHECK(table.find("classes")->toml() == R"(["New York, NY", "Boston"])");
}

TEST_CASE("plain words are not quoted for a shell") {
  for (const char* const word : {"train", "--lr", "runs/ten", "freeze:epochs=1,to=-2", "a@b%c+d_e"})
    CHECK(shell_word(word) == word);
}

TEST_CASE("words that a shell would split or expand are quoted") {
  CHECK(shell_word("") == "''");
  CHECK(shell_word("my images") == "'my images'");
  CHECK(shell_word("$HOME;ls") == "'$HOME;ls'");
  CHECK(shell_word("it's") == R"('it'\''s')");
  CHECK(shell_word("~/images") == "'~/images'");
  CHECK(shell_word("\xc3\xa4") == "'\xc3\xa4'");
}

TEST_CASE("words are joined as they are typed") {
  CHECK(shell_words(std::vector<std::string>{}).empty());
  CHECK(shell_words(std::vector<std::string>{"train", "--data", "my images", ""}) ==
        "train --data 'my images' ''");
}
