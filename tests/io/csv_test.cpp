#include "framework/io/csv.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <clocale>
#include <limits>
#include <string>

using namespace learn;

TEST_CASE("numbers have six digits, texts are quoted where needed, and rows are there at once") {
  const TemporaryFolder folder;
  CsvWriter csv(folder / "r.csv", {"epoch", "loss", "note"});
  csv.row({1.0, 0.123456789, std::string("plain")});
  csv.row({2.0, 1e-12, std::string("a,\"b\"\nc")});
  csv.row({3.0, std::numeric_limits<double>::quiet_NaN(), {}});
  CHECK(read_text_file(folder / "r.csv") ==
        "epoch,loss,note\n1,0.123457,plain\n2,1e-12,\"a,\"\"b\"\"\nc\"\n3,nan,\n");

  const CsvTable table = read_csv(folder / "r.csv");
  CHECK(table.column("loss") == 1);
  CHECK_FALSE(table.column("lose"));
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[1][2] == "a,\"b\"\nc");
  CHECK(table.rows[2][2].empty());
}

TEST_CASE("a float has the digits that give it back, and no more") {
  for (const float value :
       {0.1F, 1.0F, 2.302585F, 16777215.0F, 1e-7F, 3.0000001e-5F, 3.4028235e38F})
    CHECK(std::stof(csv_line({value})) == value);
  CHECK(csv_line({0.1F, 1.0F, 2.3025851F, 1e-7F, 16777215.0F}) ==
        "0.1,1,2.3025851,1e-07,16777215\n");
  CHECK(csv_line({-std::numeric_limits<float>::quiet_NaN(),
                  std::numeric_limits<float>::infinity()}) == "nan,inf\n");
}

TEST_CASE("no text becomes a formula in a spreadsheet, and all come back as they were") {
  const TemporaryFolder folder;
  const std::vector<std::string> texts{
      "=cmd()", "+1+1", "-x", "@sum", "\tx", "'quoted", "a=b", "-1.5", "+", "", "'"};
  {
    CsvWriter csv(folder / "r.csv", {"=title"});
    for (const std::string& text : texts) csv.row({text});
    csv.row({-1.5});
  }
  CHECK(read_text_file(folder / "r.csv") ==
        "'=title\n'=cmd()\n'+1+1\n'-x\n'@sum\n'\tx\n''quoted\na=b\n-1.5\n'+\n\"\"\n''\n-1.5\n");
  const CsvTable table = read_csv(folder / "r.csv");
  CHECK(table.header == std::vector<std::string>{"=title"});
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(table.rows.at(i).at(0) == texts[i]);
}

TEST_CASE("a table written by people has its cells, with the lines they start at") {
  const CsvTable table = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n2,\n3,x\"y\r",
      "t.csv");
  using Strings = std::vector<std::string>;
  CHECK(table.header == Strings{"a", "b"});
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0] == Strings{"1", "x, \"y\"\nz"});
  CHECK(table.rows[1] == Strings{"2", ""});
  CHECK(table.rows[2] == Strings{"3", "x\"y"});
  CHECK(table.lines == std::vector<std::size_t>{2, 5, 6});
  CHECK(parse_csv("a;b,c\n1;\"2;3\"\n", "t.csv", ';').rows[0] == Strings{"1", "2;3"});
  CHECK(parse_csv("a,b\n\n", "t.csv").rows.empty());
  CHECK_THROWS_WITH_AS((void)parse_csv("\n", "t.csv"), "'t.csv' is empty", DataError);
  CHECK_THROWS_WITH_AS((void)parse_csv("a,b\n1,2\n3\n", "t.csv"),
                       "'t.csv', line 3 has 1 cells, but the header has 2 (a, b): '3'",
                       DataError);
  CHECK_THROWS_WITH_AS((void)parse_csv("a,b\n1,2\n3,\"4\n", "t.csv"),
                       "'t.csv', line 3: a closing quote is missing",
                       DataError);
}

TEST_CASE("lines may end in CR alone, as an old Macintosh writes them") {
  const CsvTable table = parse_csv("a,b\r1,\"x\ry\"\r\r2,z\r", "t.csv");
  using Strings = std::vector<std::string>;
  CHECK(table.header == Strings{"a", "b"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0] == Strings{"1", "x\ry"});
  CHECK(table.rows[1] == Strings{"2", "z"});
  CHECK(table.lines == std::vector<std::size_t>{2, 5});
}

TEST_CASE("a spreadsheet's separator is the one it says, or the one its header has most of") {
  using Strings = std::vector<std::string>;
  const auto header = [](const std::string& text, char separator = '\0') {
    return parse_spreadsheet(text, "t.csv", separator).header;
  };
  CHECK(header("a,b\n") == Strings{"a", "b"});
  CHECK(header("a;b,c;d\n") == Strings{"a", "b,c", "d"});
  CHECK(header("\"a,b,c\"\td\n") == Strings{"a,b,c", "d"});
  CHECK(header("\r\na;b\r\n1,2,3;4\r\n") == Strings{"a", "b"});
  CHECK(header("a;b,c\n", ',') == Strings{"a;b", "c"});
  CHECK(header("a\n") == Strings{"a"});
  CHECK(header("\xEF\xBB\xBFsep=;\r\na,x;b\r\n") == Strings{"a,x", "b"});
  CHECK(header("\"sep=\t\"\na,x\tb\n") == Strings{"a,x", "b"});
  CHECK(header("sep=|\na,x|b\n") == Strings{"a,x", "b"});
  CHECK(header("sep=;\na;x,b\n", ',') == Strings{"a;x", "b"});
  CHECK(header("sep=x,b\n") == Strings{"sep=x", "b"});
  const CsvTable table = parse_spreadsheet("sep=;\n\na;b\n1;2\n", "t.csv");
  CHECK(table.header_line == 3);
  CHECK(table.lines == std::vector<std::size_t>{4});
}

TEST_CASE("a spreadsheet's blank rows and blanks before a quote are ignored") {
  using Strings = std::vector<std::string>;
  const CsvTable table =
      parse_spreadsheet("a, \"b\"\n1, \"x, y\"\n,\n , ,\n   \n2,z \"q\"\n,,,,\n", "t.csv");
  CHECK(table.header == Strings{"a", "b"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0] == Strings{"1", "x, y"});
  CHECK(table.rows[1] == Strings{"2", "z \"q\""});
  CHECK(table.lines == std::vector<std::size_t>{2, 6});
  CHECK_THROWS_WITH_AS((void)parse_spreadsheet("a;b\n1;2;3\n", "t.csv"),
                       "'t.csv', line 2 has 3 cells, but the header has 2 (a, b): '1;2;3'",
                       DataError);
  CHECK_THROWS_AS((void)parse_spreadsheet(",,\n", "t.csv"), DataError);
}

TEST_CASE("a locale with a decimal comma changes nothing") {
  const TemporaryFolder folder;
  const char* const locale = std::setlocale(LC_ALL, "de_DE.UTF-8");
  CsvWriter(folder / "r.csv", {"x"}).row({1.5});
  std::setlocale(LC_ALL, "C");
  INFO("the locale is ", locale == nullptr ? "not installed" : locale);
  CHECK(read_text_file(folder / "r.csv") == "x\n1.5\n");
}

TEST_CASE("misuse and damaged files are errors") {
  const TemporaryFolder folder;
  CsvWriter csv(folder / "r.csv", {"a", "b"});
  CHECK_THROWS_AS(csv.row({1.0}), UsageError);
  CHECK_THROWS_AS(CsvWriter(folder / "no" / "r.csv", {"a"}), IoError);
  CHECK_THROWS_WITH_AS(
      CsvWriter("/dev/full", {"a"}), "cannot write '/dev/full': No space left on device", IoError);
  CHECK_THROWS_AS((void)read_csv(folder / "missing"), IoError);
  write_file_atomically(folder / "bad", "a,b\n1\n");
  CHECK_THROWS_WITH_AS((void)read_csv(folder / "bad"),
                       doctest::Contains("line 2 has 1 cells, but the header has 2 (a, b): '1'"),
                       DataError);
  write_file_atomically(folder / "open", "a\n\"x\n");
  CHECK_THROWS_AS((void)read_csv(folder / "open"), DataError);
  write_file_atomically(folder / "empty", "");
  CHECK_THROWS_AS((void)read_csv(folder / "empty"), DataError);
}
