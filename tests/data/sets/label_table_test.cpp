#include "data/sets/label_table.h"

#include "data/sets/registry.h"
#include "framework/core/error.h"
#include "tests/data/images.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;
namespace fs = std::filesystem;

namespace {

using Strings = std::vector<std::string>;

/// Eight images, i/0.png to i/7.png, and a table.
struct Photos {
  Photos() {
    for (int i = 0; i < 8; ++i)
      test::write_bytes(folder.path() / "i" / (std::to_string(i) + ".png"),
                        test::png(test::plain(4, 4, static_cast<std::uint8_t>(i), 7, 9), 4, 4));
  }

  void write(const std::string& text) const {
    test::write_bytes(table, {text.begin(), text.end()});
  }

  [[nodiscard]] DataPair load(const std::string& text,
                              const std::string& options = "",
                              const DataOptions& more = {.valid_fraction = 0.5}) const {
    write(text);
    return data::load(table.string() + options, more);
  }

  template <class E = DataError>
  [[nodiscard]] std::string error(const std::string& text, const std::string& options = "") const {
    return text_of<E>([&] { (void)load(text, options, {}); });
  }

  /// "cat" and "dog" in turn, a line each: "i/0.png,cat".
  static std::string rows(const std::string& separator = ",",
                          const std::string& slash = "/",
                          const std::string& end = "\n",
                          const std::string& more = "") {
    std::string text;
    for (int i = 0; i < 8; ++i)
      text += "i" + slash + std::to_string(i) + ".png" + separator + (i % 2 == 0 ? "cat" : "dog") +
              more + end;
    return text;
  }

  test::TemporaryFolder folder;
  fs::path table = folder.path() / "t.csv";
};

bool whole(const DataPair& pair) {
  return pair.train.size() + pair.valid.size() == 8 && pair.train.classes == Strings{"cat", "dog"};
}

}  // namespace

TEST_CASE("tables are read as spreadsheets and other systems write them") {
  const Photos photos;
  const std::string header = "file,label\n";
  CHECK(whole(photos.load("\xEF\xBB\xBF" + header + photos.rows())));
  CHECK(whole(photos.load("sep=;\nfile;label\n" + photos.rows(";"))));
  CHECK(whole(photos.load("file;label\n" + photos.rows(";"))));
  CHECK(whole(photos.load("file\tlabel\n" + photos.rows("\t"))));
  CHECK(whole(photos.load(header + photos.rows() + ",\n,\n , \n")));
  CHECK(whole(photos.load("file,label\r" + photos.rows(",", "/", "\r"))));
  CHECK(whole(photos.load("file,label\r\n" + photos.rows(",", "/", "\r\n"))));
  CHECK(whole(photos.load(header + photos.rows(",", "\\"))));
  CHECK(whole(photos.load(header + photos.rows(",", "\\", "\n", "\u00a0"))));
  CHECK(whole(photos.load("\"file\" , \"label\"\n" + photos.rows(", "))));
  std::string utf16("\xFF\xFE");
  for (const char c : "file\tlabel\n" + photos.rows("\t")) utf16 += {c, '\0'};
  CHECK(whole(photos.load(utf16)));
  // pandas' index, and one that was written twice.
  std::string index = ",Unnamed: 0,subject,breed\n";
  for (int i = 0; i < 8; ++i)
    index += std::to_string(i) + "," + std::to_string(i) + ",.\\i\\" + std::to_string(i) +
             ".png,\"" + (i % 2 == 0 ? "cat" : "dog\n") + "\"\n";
  CHECK(whole(photos.load(index)));
  // Paths that are the index.
  CHECK(whole(photos.load(",breed\n" + photos.rows())));
  // The column of parts is not one of labels.
  std::string parts = "subject,split,breed\n";
  for (int i = 0; i < 8; ++i)
    parts += "i/" + std::to_string(i) + ".png," + (i < 4 ? "train," : "val,") +
             (i % 2 == 0 ? "cat\n" : "dog\n");
  CHECK(whole(photos.load(parts, "", {})));
}

TEST_CASE("parts are read as pandas, R and people write them") {
  const Photos photos;
  for (const auto& [valid, train] : {std::pair{"1.0", "0.0"},
                                     {"True", "False"},
                                     {"TRUE", "FALSE"},
                                     {"1", "0"},
                                     {"yes", "no"},
                                     {"Y", "n"},
                                     {"t", "F"},
                                     {"1.00\u00a0", "+0"},
                                     {"Validation", ""}}) {
    std::string text = "file,label,is_valid\n";
    for (int i = 0; i < 8; ++i)
      text += "i/" + std::to_string(i) + ".png," + (i % 2 == 0 ? "cat," : "dog,") +
              (i < 2 ? valid : train) + "\n";
    CAPTURE(text);  // clang 14 captures no structured binding
    const DataPair pair = photos.load(text, "", {});
    CHECK(whole(pair));
    CHECK(pair.valid.size() == 2);
  }
  const test::LogFile log;
  (void)photos.load("file,label,split\ni/0.png,a,\ni/1.png,b,train\ni/2.png,a,valid\n", "", {});
  CHECK(log.count("1 of 3 rows have an empty split and are used for training"));
  CHECK(contains(photos.error("file,label,split\ni/0.png,a,2.0\n"), "line 2: the split is '2.0'"));
}

TEST_CASE("a table without a header loses no row") {
  const Photos photos;
  {
    const test::LogFile log;
    CHECK(whole(photos.load(photos.rows())));
    CHECK(
        log.count("has no header: files are taken from the first column, labels from the "
                  "second"));
  }
  CHECK(whole(photos.load(photos.rows(";", "\\"))));
  std::string turned;
  std::string bare;
  for (int i = 0; i < 8; ++i) {
    const std::string label = i % 2 == 0 ? "cat" : "dog";
    turned += label + ",i/" + std::to_string(i) + ".png\n";
    bare += "i/" + std::to_string(i) + "," + label + "\n";
  }
  CHECK(whole(photos.load(turned)));
  CHECK(whole(photos.load(bare, ":suffix=.png")));
  // A class that is called as columns are.
  const DataPair pair = photos.load("i/0.png,class\ni/1.png,name\ni/2.png,class\ni/3.png,name\n");
  CHECK(pair.train.size() + pair.valid.size() == 4);
  const DataPair tags = photos.load(
      "i/0.png,a b\ni/1.png,b\ni/2.png,a\n", ":label_delim=space", {.valid_fraction = 0.3});
  CHECK(tags.train.size() + tags.valid.size() == 3);

  // An image that is not there is one, too.
  CHECK(contains(photos.error("i/9.png,cat\n" + photos.rows()), "1 of 9 files"));
  CHECK(contains(photos.error("i/0.png,cat,train\n" + photos.rows(",", "/", "\n", ",train")),
                 "has no header: its first line names an image, 'i/0.png'; add a line of column"));
  CHECK(contains(photos.error("i/0.png,1.5\ni/1.png,2\n", ":targets=y"), "has no header"));
  CHECK(contains(photos.error("file,label\ni/0.png,a\nfile,label\ni/1.png,b\n"),
                 "line 3: this line repeats the header: remove it"));
  // A folder or a column with the name of a file is not an image.
  fs::create_directory(photos.folder.path() / "label");
  test::write_bytes(photos.folder.path() / "file", {1});
  CHECK(whole(photos.load("file,label\n" + photos.rows())));
}

TEST_CASE("implausible values are refused with their line") {
  const Photos photos;
  CHECK(contains(photos.error("file,label\nC:\\p\\0.png,cat\nC:\\p\\1.png,dog\n"),
                 "line 2: 'C:\\p\\0.png' is an absolute Windows path: use paths relative to a"));
  CHECK(contains(photos.error("file,label\n\\\\nas\\0.png,cat\nd:/p/1.png,dog\n"),
                 "'\\\\nas\\0.png' is an absolute"));
  CHECK(contains(photos.error("file,label\nd:/p/1.png,cat\n"), "'d:/p/1.png' is an absolute"));
  CHECK(contains(photos.error("file,label\nj\\0.png,cat\nj\\1.png,dog\n"),
                 "none of the 2 files of '" + photos.table.string() + "' is in '" +
                     photos.folder.path().string() + "' (the first is 'j\\0.png'): set the "));
  CHECK(contains(photos.error("file,y\ni/0.png,\"1,5\"\n", ":targets=y"),
                 "line 2, column 'y': '1,5' has a comma: write numbers with a decimal point"));
  CHECK(contains(photos.error("file;y\ni/0.png;1.234,5\n", ":targets=y"), "'1.234,5' has a comma"));
  CHECK(contains(photos.error("file,y\ni/0.png,\u22121\n", ":targets=y"),
                 "'\\u22121' is not a number"));
  CHECK(contains(photos.error("file,y\ni/0.png,\n", ":targets=y"),
                 "column 'y': the number is missing: fill it in, or remove the row"));
  CHECK(contains(photos.error("file,y\ni/0.png,1e39\n", ":targets=y"), "'1e39' is too large"));
  CHECK(contains(photos.error("file,y\ni/0.png,nan\n", ":targets=y"), "'nan' is not a number"));
  CHECK(contains(photos.error("file,y,y\ni/0.png,1,2\n", ":targets=y"),
                 "has two columns 'y': rename one"));
  CHECK(contains(photos.error("file,\"a\nb\"\ni/0.png,1\n", ":targets=(a\nb)"),
                 "the name of column 'a\\x0ab' contains characters that cannot be displayed"));
  CHECK(contains(
      photos.error("1,2\n3,4\n", ":targets=y"),
      "it has: 1, 2; its first line contains numbers: add a line of column names above it"));
  CHECK(contains(photos.error("file,label\ni/0.png,caf\xE9\n"),
                 "line 2: the label 'caf\xE9' is not UTF-8: save the table as UTF-8"));
  CHECK(contains(photos.error("value\n1\n", ":targets=value"),
                 "has no column for files; it has: value"));
  CHECK(contains(photos.error<UsageError>("file,y\ni/0.png,1\n", ":targets=(y,y)"),
                 "column 'y' is used twice"));
  CHECK(contains(photos.error<UsageError>("file,y\ni/0.png,1\n", ":label=file"),
                 "column 'file' is used twice"));
  // One of two damaged files, and so many that no share below 1 is enough.
  test::write_bytes(photos.folder.path() / "i" / "1.png", {1});
  CHECK(
      contains(photos.error("file,label\ni/0.png,a\ni/1.png,b\n"),
               "':max_bad=SHARE' after the path, a share of 0.5000 or more, or all of them with"));
  test::write_bytes(photos.folder.path() / "i" / "0.png", {1});
  const std::string all = photos.error("file,label\ni/0.png,a\ni/1.png,b\n");
  CHECK(contains(all, "2 of 2 files"));
  CHECK_FALSE(contains(all, "max_bad"));
  CHECK_FALSE(contains(all, "skip_bad"));
}

TEST_CASE("similar labels give a warning, and are suggested if one is unknown") {
  const Photos photos;
  const test::LogFile log;
  const std::string text =
      "file,label,split\ni/0.png,caf\u00e9,\ni/1.png,cafe\u0301,\ni/2.png,Dog,\ni/3.png,dog,\n";
  CHECK(photos.load(text + "i/4.png,dog,valid\n", "", {}).train.classes.size() == 4);
  CHECK(log.count("'t' has different classes with similar names"));
  CHECK(log.count("\n  'Dog' and 'dog'"));
  CHECK(log.count("\n  'cafe\\u0301' and 'caf\\u00e9'"));
  CHECK(contains(photos.error(text + "i/4.png,DOG,valid\n"), "; 'DOG' looks like 'Dog' but is"));
  CHECK(contains(text_of<DataError>([&] {
                   (void)photos.load(text, "", {.classes = {"DOG", "dog"}});
                 }),
                 "has no image of class 'DOG'"));
  std::string many = "file,label,split\ni/0.png,a,valid\n";
  for (int i = 0; i < 12; ++i)
    many += "i/" + std::to_string(i % 8) + ".png," +
            static_cast<char>((i % 2 ? 'A' : 'a') + i / 2) + ",train\n";
  (void)photos.load(many, "", {});
  CHECK(log.count("\n  and 1 more: 'learn data verify' lists them"));
}

TEST_CASE("lists may come from Windows and spreadsheets, too") {
  const Photos photos;
  const fs::path list = photos.folder.path() / "l.txt";
  const auto load = [&](const std::string& text) {
    test::write_bytes(list, {text.begin(), text.end()});
    return data::load(list.string(), {.valid_fraction = 0.5});
  };
  CHECK(whole(load("\xEF\xBB\xBF" + photos.rows(" "))));
  CHECK(whole(load(photos.rows("\t", "\\", "\r\n"))));
  CHECK(whole(load(photos.rows(" ", "/", "\r"))));
  CHECK(whole(load(photos.rows(" ", "/", "\n", "\u00a0"))));
  std::string utf16("\xFE\xFF");
  for (const char c : photos.rows("\t")) utf16 += {'\0', c};
  CHECK(whole(load(utf16)));
}

TEST_CASE("a column that is probably not one of labels is refused or gives a warning") {
  const Photos photos;
  const test::LogFile log;
  std::string text = "file,label\n";
  for (int i = 0; i < 24; ++i)
    text += "i/" + std::to_string(i % 8) + ".png," + std::to_string(i < 12 ? i : i - 12) + ".5\n";
  (void)photos.load(text);
  CHECK_FALSE(log.count("classes for"));
  text += "i/0.png,12\n";
  (void)photos.load(text);
  CHECK(log.count("13 classes for 25 samples: check the column of classes"));

  constexpr int kMany = 17'000;
  std::string labels = "file,tags\n";
  for (int i = 0; i < kMany; ++i) labels += "i/0.png,t" + std::to_string(i) + "\n";
  CHECK(contains(photos.error(labels, ":label_delim=;"),
                 "17000 files with 17000 different labels need a table of 1103 MiB: check the"));
}

TEST_CASE("a table of numbers is a data set of features") {
  const Photos photos;
  std::string text = ",length,width,species,part,price\n";
  for (int i = 0; i < 8; ++i)
    text += fmt::format("{},{},{}.5,{},{},{}\n",
                        i,
                        i,
                        i * 2,
                        i % 2 == 0 ? "cat" : "dog",
                        i < 6 ? "train" : "valid",
                        i * 100);
  const DataPair pair = photos.load(text, ":features=(width,length),label=species,split=part", {});
  CHECK(pair.train.target_kind == TargetKind::classes);
  CHECK(pair.train.sample_shape() == Shape{2});
  CHECK(pair.train.feature_names == Strings{"width", "length"});
  CHECK(pair.train.classes == Strings{"cat", "dog"});
  CHECK(pair.train.features.size() == 12);
  CHECK(pair.train.features_of(1)[0] == 2.5F);
  CHECK(pair.train.features_of(1)[1] == 1.0F);
  CHECK(pair.valid.labels == std::vector<std::int64_t>{0, 1});
  CHECK(pair.valid.files[1] == photos.table.string() + ":9");
  CHECK_NOTHROW(pair.train.validate());
  CHECK_NOTHROW(pair.valid.validate());
  CHECK(sample_word(pair.train) == "rows");
  const DataPair turned =
      photos.load(text, ":features=(length,width),label=species,split=part", {});
  CHECK(turned.train.fingerprint() != pair.train.fingerprint());

  const DataPair values = photos.load(text, ":features=length,targets=(price,width)");
  CHECK(values.train.target_kind == TargetKind::values);
  CHECK(values.train.size() + values.valid.size() == 8);
  CHECK(values.train.classes == Strings{"price", "width"});
  CHECK(subset(values.train, std::vector<std::int64_t>{0}).feature_names == Strings{"length"});

  // The only column that is left holds the labels.
  CHECK(photos.load("a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n", ":features=(a,b)").train.classes ==
        Strings{"x", "y"});
  CHECK(contains(photos.error("a,b,c\n1,2,3\n", ":features=(a)"),
                 "set the column of classes, ':label=COLUMN', or the columns of numbers to "
                 "predict, ':targets=(COLUMN,...)'; it has: a, b, c"));
  CHECK(contains(photos.error("a,b,label\n1,x,p\n", ":features=(a,b)"),
                 "line 2, column 'b': 'x' is not a number"));
  CHECK(contains(photos.error("a,b,label\n1,2,p\n", ":features=(a,c)"), "has no column 'c'"));
  CHECK(contains(photos.error<UsageError>("a,y\n1,2\n", ":features=(a,y),targets=y"),
                 "column 'y' is used twice: it can be only one of feature, target"));
  for (const char* option : {"size=4",
                             "channels=1",
                             "max_bad=0.1",
                             "skip_bad=true",
                             "stream=true",
                             "root=/",
                             "image=a",
                             "suffix=.png"})
    CHECK(contains(photos.error<UsageError>("a,label\n1,x\n", ":features=a," + std::string(option)),
                   "is for images; it has no effect with features"));

  const DataPair judged = photos.load(text,
                                      ":features=(width,length),label=species,split=part",
                                      {.classes = {"dog", "cat"}, .evaluation = ImageSize{}});
  CHECK(judged.valid.labels == std::vector<std::int64_t>{1, 0});

  photos.write(text);
  const FeatureRows rows = read_feature_rows(photos.table, "t", {"price", "length"});
  CHECK(rows.names.front() == "t:2");
  CHECK(rows.values.size() == 16);
  CHECK(rows.values[2] == 100.0F);
  CHECK(rows.values[3] == 1.0F);
}
