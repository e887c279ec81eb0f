#include "framework/core/options/shell_word.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace learn;

TEST_CASE("plain words are not quoted for a shell") {
  for (const char* const word : {"train", "--lr", "runs/ten", "freeze:epochs=1,to=-2", "a@b%c+d_e"})
    CHECK(shell_word(word) == word);
}

TEST_CASE("what a shell would take apart or replace is quoted") {
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
