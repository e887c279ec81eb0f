#include "data/sets/label_list.h"

#include "data/duplicates.h"
#include "data/sets/pattern.h"
#include "data/sets/registry.h"
#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;
namespace fs = std::filesystem;

namespace {

using Strings = std::vector<std::string>;

std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

/// A PNG whose colour tells it from others.
void write_image(const fs::path& path, int number) {
  test::write_bytes(path,
                    test::png(test::plain(4, 4, static_cast<std::uint8_t>(number), 7, 9), 4, 4));
}

std::string data_error(const std::string& spec, const DataOptions& options = {}) {
  return text_of<DataError>([&] { static_cast<void>(load(spec, options)); });
}

std::string usage_error(const std::string& spec, const DataOptions& options = {}) {
  return text_of<UsageError>([&] { static_cast<void>(load(spec, options)); });
}

/// The numbers that `write_image` drew.
std::vector<int> numbers(const Dataset& set) {
  std::vector<int> out;
  for (std::int64_t i = 0; i < set.size(); ++i) out.push_back(set.image(i)[0]);
  return out;
}

}  // namespace

TEST_CASE("patterns are Python's, and those that explode are an error") {
  CHECK(Pattern(R"((.+)_\d+.jpg$)").find("great_pyrenees_173.jpg") == "great_pyrenees");
  CHECK(Pattern(R"(/(.+)_\d+.jpg$)").find("images/beagle_1.jpg") == "beagle");
  CHECK(Pattern(R"([a-z]+)").find("12abc3") == "abc");
  CHECK(Pattern(R"((?<=-)\w+)").find("a-Ünder") == "Ünder");
  CHECK(Pattern("^x(y)?").find("xz") == "");
  CHECK_FALSE(Pattern("^x").find("ax").has_value());
  // Two groups are not a value in parentheses.
  const Spec spec = Spec::parse("x:a=(b)_(c),d=((e),f)");
  CHECK(spec.options == OptionValues{{"a", "(b)_(c)"}, {"d", "(e),f"}});
  CHECK(spec.text() == "x:a=(b)_(c),d=((e),f)");
  CHECK(contains(text_of<UsageError>([] { Pattern("a(b"); }),
                 "the regular expression 'a(b' is wrong at 'a(b': missing closing parenthesis"));
  const std::string text = text_of<DataError>(
      [] { static_cast<void>(Pattern("^(a+)+$").find(std::string(60, 'a') + "b")); });
  CHECK(contains(text, "match limit exceeded"));
  // Where std::regex overflows the stack.
  CHECK(Pattern("^(a|b)*c").find(std::string(20'000, 'a')).has_value() == false);
}

TEST_CASE("a table gives the labels of images, and selects validation images") {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 6; ++i)
    write_image(folder.path() / "pics" / ("image " + std::to_string(i) + ".png"), i);
  const fs::path table = folder.path() / "labels.csv";
  test::write_bytes(
      table,
      bytes("file,class,is_valid\npics/image 0.png,dog,False\npics/image 1.png,cat,0\n"
            "pics/image 2.png, dog,True\npics/image 3.png,cat,yes\n"));
  const DataPair pair = load(table.string());
  CHECK(pair.train.name == "labels");
  CHECK(pair.train.classes == Strings{"cat", "dog"});
  CHECK(pair.train.labels == std::vector<std::int64_t>{1, 0});
  CHECK(numbers(pair.train) == std::vector<int>{0, 1});
  CHECK(numbers(pair.valid) == std::vector<int>{2, 3});
  CHECK(pair.valid.labels == std::vector<std::int64_t>{1, 0});
  CHECK(pair.train.files[0] == (folder.path() / "pics" / "image 0.png").string());

  // Other names, another separator, classes that are numbers, a share for validation.
  test::write_bytes(folder.path() / "other.tsv",
                    bytes("nr;what\n0;10\n1;9\n2;10\n3;9\n4;10\n5;9\n"));
  const std::string spec = (folder.path() / "other.tsv").string() +
                           ":image=nr,label=what,separator=semicolon,suffix=.png,root=" +
                           (folder.path() / "pics").string();
  CHECK(contains(data_error(spec), "none of the 6 files of '"));
  for (int i = 0; i < 6; ++i) write_image(folder.path() / "pics" / (std::to_string(i) + ".png"), i);
  const DataPair split = load(spec, {.valid_fraction = 0.34});
  CHECK(split.train.classes == Strings{"9", "10"});
  CHECK(split.train.size() == 4);
  CHECK(split.valid.size() == 2);

  const DataPair chosen = load(spec, {.classes = {"10", "9"}, .train_limit = 2});
  CHECK(chosen.train.classes == Strings{"10", "9"});
  CHECK(chosen.train.size() == 2);

  // No formula for a spreadsheet, as `learn data make` writes it.
  const std::string quoted = (folder.path() / "quoted.csv").string();
  test::write_bytes(quoted,
                    bytes("file,label\npics/image 0.png,'@home\npics/image 1.png,'=x\n"
                          "pics/image 2.png,'@home\npics/image 3.png,'=x\n"));
  CHECK(load(quoted, {.valid_fraction = 0.5}).train.classes == Strings{"=x", "@home"});
  test::write_bytes(quoted, bytes("file,label\n"));
  CHECK(data_error(quoted) == "'" + quoted + "' has a header and no rows");
  CHECK(contains(data_error(spec, {.classes = {"8"}}), "has no image of class '8'; it has: 9, 10"));
  CHECK(contains(usage_error(spec, {.classes = {"9", "9"}}), "class '9' is named twice"));

  const DataPair judged =
      load(table.string(), {.classes = {"dog", "cat"}, .evaluation = ImageSize{2, 2}});
  CHECK(numbers(judged.valid) == std::vector<int>{2, 3});
  CHECK(judged.valid.labels == std::vector<std::int64_t>{0, 1});
  CHECK(judged.valid.width == 2);
  CHECK(contains(data_error(table.string(), {.classes = {"dog"}, .evaluation = ImageSize{2, 2}}),
                 "line 5: 'pics/image 3.png' is 'cat', which is not in the model"));
}

TEST_CASE("a table may have several labels in a cell, or numbers") {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) write_image(folder.path() / (std::to_string(i) + ".png"), i);
  const fs::path table = folder.path() / "t.csv";
  test::write_bytes(table,
                    bytes("name,tags,x,y,split\n0.png,sea  sun,1.5,-2,train\n1.png,,0,1e3,train\n"
                          "2.png,sun,2,2,val\n3.png,sea,3,3,test\n"));
  const DataPair tags = load(table.string() + ":label_delim=space");
  CHECK(tags.train.target_kind == TargetKind::labels);
  CHECK(tags.train.classes == Strings{"sea", "sun"});
  CHECK(tags.train.targets == std::vector<float>{1, 1, 0, 0});
  CHECK(tags.valid.targets == std::vector<float>{0, 1});
  CHECK_NOTHROW(tags.train.validate());
  CHECK(contains(usage_error(table.string() + ":label_delim=space", {.classes = {"sea"}}),
                 "its images have several labels"));

  const DataPair points = load(table.string() + ":targets=(x,y)");
  CHECK(points.train.target_kind == TargetKind::values);
  CHECK(points.train.classes == Strings{"x", "y"});
  CHECK(points.train.targets == std::vector<float>{1.5, -2, 0, 1000});
  CHECK(points.valid.targets == std::vector<float>{2, 2});
  CHECK(contains(usage_error(table.string() + ":targets=x,label=tags"), "one of them"));
  CHECK(contains(data_error(table.string() + ":targets=tags"),
                 "line 2, column 'tags': 'sea  sun' is not a number"));

  test::write_bytes(folder.path() / "2.png", test::png(test::plain(5, 4, 2, 7, 9), 5, 4));
  CHECK(contains(data_error(table.string() + ":targets=x"),
                 "images are 4x4, validation images 4x5; set one size"));
  CHECK(load(table.string() + ":size=3,targets=x").valid.height == 3);
  write_image(folder.path() / "2.png", 2);

  // Damaged files take their targets with them.
  test::write_bytes(folder.path() / "0.png", {1, 2, 3});
  const DataPair fewer = load(table.string() + ":targets=(x,y),skip_bad=true");
  CHECK(fewer.train.targets == std::vector<float>{0, 1000});
  REQUIRE(fewer.skipped.size() == 1);
  CHECK(fewer.skipped[0].file == (folder.path() / "0.png").string());
  CHECK(fewer.skipped[0].why == "it is not JPEG, PNG, WebP, TIFF, BMP, GIF or PNM");
  test::write_bytes(folder.path() / "1.png", {1, 2, 3});
  CHECK(
      contains(data_error(table.string() + ":targets=x,skip_bad=true"), "none of the 2 files in"));
}

TEST_CASE("errors in a table name the line") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "t.csv";
  write_image(folder.path() / "a.png", 1);
  const auto error = [&](const std::string& text, const std::string& options = "") {
    test::write_bytes(path, bytes(text));
    return data_error(path.string() + options);
  };
  CHECK(contains(error("image,label\na.png,\n"), "line 2: no label in column 'label'"));
  CHECK(contains(error("image,label\n,x\n"), "line 2: no file in column 'image'"));
  CHECK(contains(error("image,label,split\na.png,x,trian\n"), "line 2: the split is 'trian'"));
  CHECK(contains(error("image,label,split\na.png,x,test\n"), "no image for training, 1 for"));
  CHECK(contains(error("image,label\na.png,x\n", ":label=lable"),
                 "has no column 'lable'; did you mean 'label'?; it has: image, label"));
  CHECK(contains(error("image\na.png\n"), "has no column for labels; it has: image; is another"));
  CHECK(contains(error(",label\n", ":image=label"), "has a header and no rows"));
  CHECK(contains(error("image,label,split\na.png,x,train\nb.png,y,valid\n"),
                 "line 3: 'b.png' is 'y', which is not in the training part: it has x"));
  CHECK(contains(data_error((folder.path() / "no.csv").string()), "no.csv': "));
  CHECK(contains(usage_error(path.string() + ":cache=1"), "cache=1 has no effect without"));
  CHECK(contains(error("image\tlabel\na.png\tx\n", ":separator=comma"), "is another separator"));
  test::write_bytes(folder.path() / "t.tsv", bytes("image\tlabel\na.png\t\n"));
  CHECK(contains(data_error((folder.path() / "t.tsv").string()), "no label in column 'label'"));
  CHECK(contains(usage_error("csv"), "give its path, csv:path=FILE"));
}

TEST_CASE("plain lists of files") {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) write_image(folder.path() / ("my " + std::to_string(i) + ".png"), i);
  const fs::path list = folder.path() / "train.txt";
  test::write_bytes(list, bytes("# mine\nmy 0.png cat\r\nmy 1.png\tbig dog\n\n"));
  test::write_bytes(folder.path() / "val.txt", bytes("my 2.png cat\n"));
  const std::string spec = list.string() + ":valid=" + (folder.path() / "val.txt").string();
  const DataPair pair = load(spec);
  CHECK(pair.train.classes == Strings{"big dog", "cat"});
  CHECK(pair.train.labels == std::vector<std::int64_t>{1, 0});
  CHECK(numbers(pair.valid) == std::vector<int>{2});
  CHECK(contains(usage_error(spec, {.valid_fraction = 0.5}),
                 "cannot be combined with a share to split off"));

  test::write_bytes(list, bytes("my 0.png\nmy 1.png\nmy 0.png\nmy 1.png\n"));
  CHECK(load(list.string() + ":label_regex=[01],root=" + folder.path().string(),
             {.valid_fraction = 0.5})
            .train.classes == Strings{"0", "1"});
  CHECK(contains(data_error(list.string() + ":label_regex=y(x)"),
                 "line 1: 'my 0.png' does not match the regular expression 'y(x)'"));
  CHECK(contains(data_error(list.string() + ":label_regex=(x?)"), "has an empty match of"));
  test::write_bytes(list, bytes("0.png\n"));
  CHECK(contains(data_error(list.string()), "line 1: '0.png' has no label after it"));
  test::write_bytes(list, bytes("0.png,cat\n"));
  CHECK(
      contains(data_error(list.string()), "; a table is read by 'csv:path=" + list.string() + "'"));
  test::write_bytes(list, bytes("File\tlabel\nmy 0.png\tcat\n"));
  CHECK(contains(data_error(list.string()),
                 "line 1: 'File\tlabel' is a header, which a list does not have: remove the line"));
  test::write_bytes(list, bytes("x/0.png cat\nx/1.png dog\n"));
  CHECK(contains(
      data_error(list.string()),
      "none of the 2 files of '" + list.string() + "' is in '" + folder.path().string() +
          "' (the first is 'x/0.png'): set the folder or archive that they are relative to"));
  test::write_bytes(list, bytes("# none\n"));
  CHECK(contains(data_error(list.string()), "does not name any file"));
}

TEST_CASE("classes and validation images by the names of files") {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 6; ++i)
    write_image(folder.path() / "flat" / ((i % 2 ? "cat_" : "dog_") + std::to_string(i) + ".png"),
                i);
  const std::string flat = (folder.path() / "flat").string();
  const DataPair pair = load(flat + R"(:label_regex=(.+)_\d+\.png$,valid_regex=_[01]\.png$)");
  CHECK(pair.train.classes == Strings{"cat", "dog"});
  CHECK(numbers(pair.valid) == std::vector<int>{1, 0});
  CHECK(pair.train.size() == 4);
  CHECK(contains(data_error(flat + ":valid_regex=_0"), "are not in class folders"));
  CHECK(contains(data_error(flat + ":label_regex=(\\w+)_,valid_regex=x"), "no image of '"));
  CHECK(
      contains(data_error((folder.path() / "none").string() + ":valid_regex=x"), "does not exist"));
  CHECK(contains(usage_error(flat + ":valid_regex=_0", {.valid_fraction = 0.5}),
                 "cannot be combined with a share to split off"));
  CHECK(contains(usage_error(flat + ":label_regex=["), "is wrong at '['"));
  fs::create_directory(folder.path() / "empty");
  CHECK(contains(data_error((folder.path() / "empty").string() + ":label_regex=x"),
                 "has no images: it is empty"));
  const DataPair judged = load(flat + R"(:label_regex=(.+)_\d)",
                               {.classes = {"dog", "cat"}, .evaluation = ImageSize{4, 4}});
  CHECK(judged.valid.size() == 6);

  // Classes by folders, with the split in the list; and parts by folders, with the classes in the
  // list.
  for (int i = 0; i < 4; ++i) {
    write_image(folder.path() / "deep" / (i % 2 ? "a" : "b") / (std::to_string(i) + ".png"), i);
    write_image(folder.path() / "parts" / (i < 2 ? "train" : "val") /
                    ((i % 2 ? "a" : "b") + std::to_string(i) + ".png"),
                i);
  }
  const DataPair deep = load((folder.path() / "deep").string() + ":valid_regex=[23].png");
  CHECK(deep.train.classes == Strings{"a", "b"});
  CHECK(numbers(deep.valid) == std::vector<int>{3, 2});
  const DataPair parts = load((folder.path() / "parts").string() + R"(:label_regex=/(\w)\d\.)");
  CHECK(numbers(parts.train) == std::vector<int>{1, 0});
  CHECK(numbers(parts.valid) == std::vector<int>{3, 2});
}

TEST_CASE("images of one channel") {
  const test::TemporaryFolder folder;
  for (const char* name : {"train/a/1.png", "train/b/2.png", "valid/a/3.png", "valid/b/4.png"})
    write_image(folder.path() / name, name[8]);
  const DataPair pair = load(folder.path().string() + ":channels=1,size=2");
  CHECK(pair.train.channels == 1);
  CHECK(pair.train.pixels.size() == 8);
  CHECK(contains(usage_error(folder.path().string() + ":channels=2"),
                 "must be 1 (grey) or 3 (colour)"));
}

TEST_CASE("equal images are found, within a set and in both parts") {
  Dataset set = test::small_set(5, 3, 3);
  Dataset other = test::small_set(3, 3, 3);
  other.pixels[27] ^= 1U;                                            // 1 is another now
  std::copy_n(set.pixels.begin(), 27, set.pixels.begin() + 3 * 27);  // 3 is 0
  const std::vector<EqualImages> twice = repeated(set);
  REQUIRE(twice.size() == 1);
  CHECK(twice[0].first == 0);
  CHECK(twice[0].second == 3);
  const std::vector<EqualImages> both = in_both(set, other);
  REQUIRE(both.size() == 2);
  CHECK(both[0].first == 0);
  CHECK(both[0].second == 0);
  CHECK(both[1].first == 2);
  CHECK(both[1].second == 2);
  CHECK(in_both(set, test::small_set(3, 3, 2)).empty());
  CHECK(image_name(set, 4) == "image 4 of the training part");
}
