#include "data/files/file_tree.h"
#include "data/files/image_files.h"
#include "data/sets/image_folder.h"
#include "data/sets/registry.h"
#include "framework/core/error.h"
#include "tests/data/images.h"
#include "tests/data/zip_file.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

// Folders and archives as people have them: each set is tried as a folder and as a zip.

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;
namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Strings = std::vector<std::string>;

/// Files by path: "train/cat/1.png". A name that ends with "/" is an empty folder; one with an
/// image's name is an image, unlike any other.
struct Set {
  Strings paths;
  std::map<std::string, Bytes> contents = {};

  [[nodiscard]] Bytes bytes_of(std::size_t i) const {
    const auto given = contents.find(paths[i]);
    if (given != contents.end()) return given->second;
    const auto tone = static_cast<std::uint8_t>(i);
    return test::png(test::plain(4, 4, tone, static_cast<std::uint8_t>(i / 256), 7), 4, 4);
  }
};

/// Both forms of a set, under one name.
class Forms {
 public:
  explicit Forms(const Set& set) {
    std::vector<test::ZipMember> members;
    for (std::size_t i = 0; i < set.paths.size(); ++i) {
      const bool is_folder = set.paths[i].ends_with('/');
      members.push_back({set.paths[i], is_folder ? Bytes{} : set.bytes_of(i)});
      if (is_folder)
        fs::create_directories(folder() / set.paths[i]);
      else
        test::write_bytes(folder() / set.paths[i], set.bytes_of(i));
    }
    test::write_bytes(zip(), test::zip_file(members));
  }

  [[nodiscard]] fs::path folder() const { return place_.path() / "set"; }
  [[nodiscard]] fs::path zip() const { return place_.path() / "set.zip"; }
  [[nodiscard]] std::vector<fs::path> both() const { return {folder(), zip()}; }

 private:
  test::TemporaryFolder place_;
};

/// `count` images in each folder.
Strings filled(const Strings& folders, int count = 5) {
  Strings paths;
  for (const std::string& folder : folders)
    for (int i = 0; i < count; ++i) paths.push_back(folder + "/" + std::to_string(i) + ".png");
  return paths;
}

Strings operator+(Strings a, const Strings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string error_of(const fs::path& path, const std::string& options = {}) {
  return text_of<DataError>([&] { static_cast<void>(load(path.string() + options)); });
}

/// Checks both forms, without their path.
void check_error(const Set& set, const std::string& expected, const std::string& options = {}) {
  const Forms forms(set);
  for (const fs::path& path : forms.both()) {
    const std::string text = error_of(path, options);
    CAPTURE(path);
    CAPTURE(text);
    CHECK(contains(text, expected));
  }
}

/// "set/cat/1.avif: .avif" of each file, as from the folder.
std::multiset<std::string> passed_over(const fs::path& path, const std::string& options = {}) {
  std::multiset<std::string> out;
  for (const PassedOver& file : load(path.string() + options).passed_over)
    out.insert(fs::path(file.file).lexically_relative(path).string() + ": " + file.kind +
               (file.may_be_image ? " !" : ""));
  return out;
}

}  // namespace

TEST_CASE("folder sets: parts by any of their names") {
  for (const auto& names :
       std::vector<std::pair<std::string, std::string>>{{"Train", "Val"},
                                                        {"TRAIN", "TEST"},
                                                        {"training", "validation"},
                                                        {"train", "dev"},
                                                        {"Training", "Testing"},
                                                        {"training_set", "test_set"},
                                                        {"train", "Valid"}}) {
    const std::string& train = names.first;
    const std::string& valid = names.second;
    CAPTURE(train);
    CAPTURE(valid);
    const Forms forms(
        {filled({train + "/cat", train + "/dog"}) + filled({valid + "/cat", valid + "/dog"}, 2)});
    for (const fs::path& path : forms.both()) {
      const DataPair pair = load(path.string());
      CHECK(pair.train.classes == Strings{"cat", "dog"});
      CHECK(pair.train.size() == 10);
      CHECK(pair.valid.size() == 4);
      const DataPair by_name = load(path.string() + R"(:label_regex=(\w+)/\d+.png$)");
      CHECK(by_name.train.fingerprint() == pair.train.fingerprint());
      CHECK(by_name.valid.fingerprint() == pair.valid.fingerprint());
      const DataPair judged =
          load(path.string(), {.classes = {"cat", "dog"}, .evaluation = ImageSize{4, 4}});
      CHECK(judged.valid.size() == 4);
      CHECK(judged.valid.name == "set/" + valid);
      // Not the validation images.
      CHECK(load(path.string(), {.valid_fraction = 0.2}).train.size() == 8);
    }
  }
}

TEST_CASE("folder sets: three parts, where the test part is not used for validation") {
  const Forms forms({filled({"Train/a", "Train/b"}) + filled({"Val/a", "Val/b"}, 1) +
                     filled({"Test/a", "Test/b"}, 3)});
  for (const fs::path& path : forms.both()) {
    const DataPair pair = load(path.string());
    CHECK(pair.train.size() == 10);
    CHECK(pair.valid.size() == 2);
    CHECK(pair.passed_over.empty());
    CHECK(
        load(path.string(), {.classes = {"a", "b"}, .evaluation = ImageSize{4, 4}}).valid.size() ==
        6);
    // Nor do they become training images by an expression for validation images.
    const DataPair chosen = load(path.string() + ":valid_regex=/[01].png$");
    CHECK(chosen.train.size() == 6);
    CHECK(chosen.valid.size() == 4 + 2 + 4);
    const DataPair fewer = load(path.string() + ":valid_regex=Train/./[01].png$");
    CHECK(fewer.valid.size() == 4);
    CHECK(fewer.passed_over.empty());
  }
}

TEST_CASE("folder sets: images without labels in a part for tests") {
  const Forms forms({filled({"train/a", "train/b"}) + Strings{"test/1.png", "test/2.png"}});
  for (const fs::path& path : forms.both()) {
    const std::string text = error_of(path);
    CHECK(contains(text, "test' has no class folders with images: its images ('"));
    CHECK(contains(text, "; or split off a share of the training images with --val-split"));
    const DataPair pair = load(path.string(), {.valid_fraction = 0.2});
    CHECK(pair.train.size() == 8);
    CHECK(pair.passed_over.empty());
  }
}

TEST_CASE("folder sets: ambiguous parts are an error with advice") {
  check_error({filled({"train/a", "train/b", "Training/a", "Training/b", "val/a"})},
              "train' are names of the same part: keep only one; if they are classes, append "
              "':parts=false' to the path");
  check_error({filled({"train/a", "val/a", "dev/a"})}, "are names of the same part");
  check_error({filled({"seg_train/a", "seg_train/b", "seg_test/a", "seg_test/b"})},
              "(seg_test, seg_train) look like parts: name them train, valid and test; if they are "
              "classes, append ':parts=false'");
  check_error({filled({"cat", "dog", "Test"})},
              "Test' is not used as a class, and there is no training folder");
  check_error({filled({"bus", "car", "train"})}, "append ':parts=false' to the path");
  check_error({filled({"bus", "test", "train"})},
              "/train' has no class folders with images: its images ('");
  check_error({filled({"cat/train", "cat/test", "dog/train"})},
              "contain folders of parts, such as 'cat/test/0.png': move these above the classes");
  check_error({filled({"train/a", "train/b"}) + Strings{"valid/", "test/a/0.png"}},
              "valid' has no class folders with images: it is empty");
}

TEST_CASE("folder sets: classes that are called like parts") {
  const Forms forms({filled({"train", "test", "bus"})});
  for (const fs::path& path : forms.both()) {
    const DataPair pair = load(path.string() + ":parts=false");
    CHECK(pair.train.classes == Strings{"bus", "test", "train"});
    CHECK(pair.train.size() + pair.valid.size() == 15);
    CHECK(load(path.string() + R"(:parts=false,label_regex=^(\w+)/)").train.classes ==
          pair.train.classes);
    const DataOptions known{.classes = {"train", "test", "bus"}, .evaluation = ImageSize{4, 4}};
    CHECK(load(path.string() + ":parts=false", known).valid.size() == 15);
    CHECK(contains(text_of<DataError>([&] { static_cast<void>(load(path.string(), known)); }),
                   "test' has no class folders with images: its images"));
  }
  // Within a part they are classes anyhow.
  const Forms deep({filled({"train/test", "train/train", "val/test", "val/train"})});
  for (const fs::path& path : deep.both())
    CHECK(load(path.string()).train.classes == Strings{"test", "train"});
  // So are files: only folders are parts.
  const Forms file({filled({"a", "b"}) + Strings{"a/train.png", "b/test.png"}});
  for (const fs::path& path : file.both()) {
    const DataPair pair = load(path.string());
    CHECK(pair.train.size() + pair.valid.size() == 12);
  }
  const Forms odd({filled({"cat/train", "cat/test", "dog/train", "dog/test"})});
  for (const fs::path& path : odd.both()) {
    CHECK(load(path.string() + ":parts=false").train.classes == Strings{"cat", "dog"});
    CHECK(load(path.string() + ":valid_regex=/test/").valid.size() == 10);
  }
  CHECK(contains(text_of<UsageError>([&] {
                   static_cast<void>(
                       load("folder:path=" + forms.folder().string() + ",prats=false"));
                 }),
                 "did you mean 'parts'?"));
}

TEST_CASE("folder sets: classes that are numbers are in the order of numbers") {
  const Strings numbers{"0", "1", "2", "9", "10", "11"};
  const Forms forms({filled(numbers)});
  for (const fs::path& path : forms.both()) {
    CAPTURE(path);
    const DataPair pair = load(path.string());
    CHECK(pair.train.classes == numbers);
    for (std::int64_t i = 0; i < pair.train.size(); ++i)
      CHECK(fs::path(pair.train.files[static_cast<std::size_t>(i)]).parent_path().filename() ==
            labels_of(pair.train, i).front());
    CHECK(load(path.string() + R"(:label_regex=(\d+)/)").train.classes == numbers);
    CHECK(load(path.string() + ":valid_regex=/0.png").train.classes == numbers);
  }
  // Tables, also of several labels.
  std::string table = "file,label\n";
  for (const std::string& path : filled(numbers))
    table += "set/" + path + "," + path.substr(0, path.find('/')) + ".5\n";
  const fs::path csv = forms.folder().parent_path() / "t.csv";
  test::write_bytes(csv, {table.begin(), table.end()});
  const Strings halves{"0.5", "1.5", "2.5", "9.5", "10.5", "11.5"};
  CHECK(load(csv.string()).train.classes == halves);
  CHECK(load(csv.string() + ":label_delim=;").train.classes == halves);
}

TEST_CASE("folder sets: system files are ignored") {
  const Forms forms(
      {filled({"cat", "dog", "@eaDir/cat", "cat/@eaDir", "__MACOSX/photos/cat", "#recycle"}) +
       Strings{"lost+found/",
               "__MACOSX/._photos",
               ".git/x.png",
               "cat/Thumbs.db",
               "dog/desktop.ini",
               "cat/.DS_Store",
               "dog/.ipynb_checkpoints/0.png",
               "$RECYCLE.BIN/0.png",
               "System Volume Information/"}});
  for (const fs::path& path : forms.both()) {
    CAPTURE(path);
    const DataPair pair = load(path.string());
    CHECK(pair.train.classes == Strings{"cat", "dog"});
    CHECK(pair.train.size() + pair.valid.size() == 10);
    CHECK(pair.passed_over.empty());
    CHECK(image_files(path, "x").size() == 10);
    CHECK(load(path.string() + R"(:label_regex=(\w+)/\d)").train.size() == 8);
    CHECK(load(path.string(), {.classes = {"cat", "dog"}, .evaluation = ImageSize{4, 4}})
              .valid.size() == 10);
  }
  // Nor next to a single folder.
  const Forms alone({filled({"photos/cat", "photos/dog", "__MACOSX/photos/cat"}) +
                     Strings{"__MACOSX/", ".DS_Store"}});
  for (const fs::path& path : alone.both())
    CHECK(load(path.string()).train.classes == Strings{"cat", "dog"});
}

TEST_CASE("folder sets: skipped files are counted and named") {
  Set set{filled({"cat", "dog"}) + Strings{"cat/a.jfif",
                                           "cat/b.JPE",
                                           "dog/face.0001",
                                           "dog/nameless",
                                           "cat/c.avif",
                                           "cat/d.AVIF",
                                           "dog/e.heic",
                                           "dog/more.zip",
                                           "dog/nothing",
                                           "README.txt",
                                           "loose.png",
                                           "cat/notes.txt",
                                           "dog/shot.jpg_large"}};
  set.contents["dog/nothing"] = {'x'};
  set.contents["README.txt"] = {'x'};
  set.contents["cat/notes.txt"] = {};
  set.contents["cat/c.avif"] = set.contents["cat/d.AVIF"] = {'G', 'I', 'F'};
  set.contents["dog/e.heic"] = set.contents["dog/more.zip"] = {1};
  const Forms forms(set);
  const std::multiset<std::string> expected{"README.txt: .txt",
                                            "loose.png: outside of class folders !",
                                            "cat/c.avif: .avif !",
                                            "cat/d.AVIF: .avif !",
                                            "dog/e.heic: .heic !",
                                            "dog/more.zip: .zip !",
                                            "dog/nothing: without extension",
                                            "cat/notes.txt: .txt",
                                            "dog/shot.jpg_large: .jpg_large !"};
  for (const fs::path& path : forms.both()) {
    CAPTURE(path);
    const test::LogFile log;
    const DataPair pair = load(path.string());
    CHECK(pair.train.size() + pair.valid.size() == 14);
    CHECK(passed_over(path) == expected);
    CHECK(contains(log.text(), "warning"));
    CHECK(contains(log.text(),
                   "'" + path.string() +
                       "': skipped 9 files: 2 .avif, 2 .txt, 1 .heic, 1 .jpg_large, 1 .zip, 1 "
                       "outside of class folders, 1 without extension; '"));
    // The loose image has a name, too, to be labelled by.
    const DataPair by_name = load(path.string() + R"(:label_regex=([a-z]+)[./])");
    CHECK(by_name.train.size() + by_name.valid.size() == 15);
    CHECK(image_files(path, "x").size() == 15);
  }
  for (const std::string place : {"", "cat/"}) {
    const std::string note = place + "labels.csv";
    const Forms harmless({filled({"cat", "dog"}) + Strings{note}, {{note, {'x'}}}});
    for (const fs::path& path : harmless.both()) {
      const test::LogFile log;
      CHECK(passed_over(path) == std::multiset<std::string>{note + ": .csv"});
      CHECK_FALSE(contains(log.text(), "warning"));
      CHECK(contains(log.text(), "skipped 1 file: 1 .csv") == !place.empty());
    }
  }
  const Forms other({filled({"train/cat", "train/dog", "valid/cat", "valid/dog", "extra/cat"}, 2)});
  for (const fs::path& path : other.both())
    CHECK(passed_over(path) ==
          std::multiset<std::string>{"extra/cat/0.png: outside of the parts !",
                                     "extra/cat/1.png: outside of the parts !"});
}

TEST_CASE("folder sets: links are followed, and counted where they lead nowhere or back") {
  const Forms forms({filled({"a", "b", "elsewhere/c"})});
  const fs::path set = forms.folder();
  fs::rename(set / "elsewhere", set.parent_path() / "elsewhere");
  fs::create_directory_symlink(set.parent_path() / "elsewhere" / "c", set / "a" / "linked");
  fs::create_directory_symlink(set.parent_path() / "elsewhere" / "c", set / "c");
  fs::create_directory_symlink(set / "a", set / "a" / "again");
  fs::create_directory_symlink("../..", set / "b" / "up");
  fs::create_symlink("gone", set / "b" / "gone");
  const DataPair pair = load(set.string());
  CHECK(pair.train.classes == Strings{"a", "b", "c"});
  // "up" holds the other folder, the set without "b" and, as that is above it, without itself.
  CHECK(class_counts(pair.train)[0] + class_counts(pair.valid)[0] == 10);
  CHECK(class_counts(pair.train)[2] + class_counts(pair.valid)[2] == 5);
  const auto found = passed_over(set);
  CHECK(found.contains("a/again: link to a parent folder !"));
  CHECK(found.contains("b/gone: broken link !"));
  // An image that cannot be had is damaged, as it is in a table.
  fs::create_symlink("nowhere.png", set / "a" / "gone.png");
  CHECK(contains(error_of(set), "a/gone.png: cannot open it: No such file or directory"));
  CHECK(load(set.string() + ":skip_bad=true").skipped.front().file ==
        (set / "a/gone.png").string());
}

TEST_CASE("folder sets: folders around the classes are entered") {
  for (const std::string wrap : {"photos/", "a/b/", "train/x/"}) {
    const bool part = wrap.starts_with("train");
    const Strings valid = part ? filled({"valid/y/cat", "valid/y/dog"}) : Strings{};
    Set set{filled({wrap + "cat", wrap + "dog"}) + valid + Strings{"README.txt"},
            {{"README.txt", {'x'}}}};
    const Forms forms(set);
    for (const fs::path& path : forms.both()) {
      CAPTURE(path);
      CAPTURE(wrap);
      const test::LogFile log;
      const DataPair pair = load(path.string());
      CHECK(pair.train.classes == Strings{"cat", "dog"});
      CHECK(contains(log.text(), "the only folder"));
      CHECK(pair.train.name == "set");
      CHECK(passed_over(path) == std::multiset<std::string>{"README.txt: .txt"});
      const auto evaluated =
          load(path.string(), {.classes = {"dog", "cat"}, .evaluation = ImageSize{4, 4}});
      CHECK(evaluated.valid.labels.front() == 1);
      if (!part)
        CHECK(load(path.string() + ":valid_regex=/0").train.classes == Strings{"cat", "dog"});
    }
  }
  // Not one that a model knows as a class.
  const Forms one({filled({"cat/old", "cat/new"}) + Strings{"x.txt"}});
  for (const fs::path& path : one.both()) {
    const auto read = [&](const Strings& classes) {
      return load(path.string(), {.classes = classes, .evaluation = ImageSize{4, 4}}).valid.size();
    };
    CHECK(read({"cat", "dog"}) == 10);
    CHECK(contains(text_of<DataError>([&] { static_cast<void>(read({"dog"})); }),
                   "is 'new', which is not in the model"));
  }
  // Nor if only images are in it.
  check_error({filled({"photos"}) + Strings{"x.txt"}}, "has one class, 'photos'");
}

TEST_CASE("folder sets: a folder without class folders gets advice") {
  const auto set = [](const Strings& paths) {
    Set out{paths};
    for (const std::string& path : paths)
      if (!path.ends_with(".png")) out.contents[path] = {1};
    return out;
  };
  check_error(set({"train.zip", "test.zip", "labels.csv"}), "test.zip', '");
  check_error(set({"train.zip", "labels.csv"}), "it contains archives ('");
  check_error(set({"1.png", "2.png", "labels.csv"}),
              "labels.csv' contains the labels, use --data '");
  check_error(set({"1.png", "2.png"}),
              "are not in class folders: move them into a folder per class");
  check_error(set({"1.png", "2.png", "3.png", "4.png", "5.png"}), "3.png' and 2 more)");
  check_error(set({"train/1.png", "test/2.png"}), "append ':parts=false' to the path");
  check_error(set({"data_batch_1", "batches.meta"}), "get the binary version (--data cifar10)");
  check_error(set({"x.h5"}), "arrays in such files ('");
  check_error(set({"a/1.heic", "a/2.heic", "b/3.avif"}),
              "it has 3 files: 2 .heic, 1 .avif, none of them in a supported format: convert");
  check_error(set({"labels.csv"}), "lists images and their labels, use --data '");
  check_error(set({"notes.txt", "LICENSE"}), "it has 2 files: 1 .txt, 1 without extension");
  check_error(set({"notes.txt"}), "has no images: it has 1 file: 1 .txt", ":label_regex=x");
}

TEST_CASE("folder sets: an expression for labels sees the path below its part") {
  const Forms forms({Strings{"train/cat_1.png",
                             "train/cat_2.png",
                             "train/dog_1.png",
                             "valid/cat_1.png",
                             "valid/dog_1.png"}});
  for (const fs::path& path : forms.both())
    for (const std::string regex : {R"((.+)_\d+.png$)", R"(/(.+)_\d+.png$)", R"(^(\w+)_)"}) {
      const DataPair pair = load(path.string() + ":label_regex=" + regex);
      CHECK(pair.train.classes == Strings{"cat", "dog"});
      CHECK(pair.train.size() == 3);
      CHECK(pair.valid.size() == 2);
    }
  check_error({Strings{"train/cat_1.png", "valid/1.png"}},
              "'valid/1.png' does not match the regular expression",
              R"(:label_regex=([a-z]+)_)");
}

TEST_CASE("folder sets: names of a zip are UTF-8 where it says so, in any locale") {
  const Forms forms(
      {filled({"ネコ", "dog"}) + Strings{"Übersicht.txt"}, {{"Übersicht.txt", {'x'}}}});
  for (const fs::path& path : forms.both()) {
    CHECK(load(path.string()).train.classes == Strings{"dog", "ネコ"});
    CHECK(passed_over(path) == std::multiset<std::string>{"Übersicht.txt: .txt"});
    CHECK(image_files(path, "x").back().name == "x/ネコ/4.png");
  }
  // A name in the charset of a country, and one that claims to be UTF-8.
  const fs::path zip = forms.zip();
  const Bytes image = test::png(test::plain(4, 4, 1, 2, 3), 4, 4);
  test::write_bytes(zip, test::zip_file({{"a/1.png", image}, {"b\x81/2.png", image, false}}));
  CHECK(contains(error_of(zip),
                 "the class name 'b\x81' contains characters that cannot be displayed"));
  test::write_bytes(zip, test::zip_file({{"a/1.png", image}, {"b\x81/2.png", image, true}}));
  CHECK(contains(error_of(zip),
                 "set.zip/?' has a name that is not text; it comes after 'a/1.png': create the "
                 "archive again"));
  CHECK(image_files(zip, "x").size() == 2);
  test::write_bytes(zip, test::zip_file({{"b\x81/2.png", image, true}}));
  CHECK(contains(error_of(zip), "it comes first: create"));
}
