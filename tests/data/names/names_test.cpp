#include "data/names/names.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace learn::data;
using Strings = std::vector<std::string>;

TEST_CASE("names of parts are recognized as people write them") {
  for (const char* name : {"train",
                           "Train",
                           "TRAIN",
                           "training",
                           "Training_Set",
                           "TrainData",
                           "train images",
                           "trainset"})
    CHECK_MESSAGE(part_named(name) == Part::train, name);
  for (const char* name :
       {"valid", "VAL", "Validation", "dev", "Eval", "evaluation", "val-set", "validation_data"})
    CHECK_MESSAGE(part_named(name) == Part::valid, name);
  for (const char* name : {"test", "Test", "testing", "test_set", "test-split", "Test Dataset"})
    CHECK_MESSAGE(part_named(name) == Part::test, name);
  for (const char* name :
       {"", "cat", "trains", "test tube", "train station", "set", "data", "seg_train", "test.png"})
    CHECK_MESSAGE(part_named(name) == Part::unsaid, name);
}

TEST_CASE("names that only resemble parts are found") {
  CHECK(look_like_parts({"seg_train", "seg_test"}));
  CHECK(look_like_parts({"train2017", "val2017"}));
  CHECK(look_like_parts({"trainA", "trainB", "testA", "testB"}));
  CHECK(look_like_parts({"Trains", "Tests"}));
  CHECK_FALSE(look_like_parts({}));
  CHECK_FALSE(look_like_parts({"train_interior", "train_station"}));  // one part
  CHECK_FALSE(look_like_parts({"seg_train", "seg_test", "cat"}));
  CHECK_FALSE(look_like_parts({"restrain", "contest", "interval"}));
}

TEST_CASE("system files are recognized") {
  for (const char* name : {".DS_Store",
                           "._cat.png",
                           ".ipynb_checkpoints",
                           ".thumbnails",
                           ".git",
                           "__MACOSX",
                           "@eaDir",
                           "#recycle",
                           "@Recycle",
                           "Thumbs.db",
                           "THUMBS.DB",
                           "desktop.ini",
                           "Desktop.ini",
                           "lost+found",
                           "$RECYCLE.BIN",
                           "System Volume Information",
                           "__pycache__",
                           "Icon\r"})
    CHECK_MESSAGE(is_system_name(name), name);
  for (const char* name : {"cat", "MACOSX", "eaDir", "@home", "#1", "thumbs", "recycling bin", ""})
    CHECK_FALSE_MESSAGE(is_system_name(name), name);
}

TEST_CASE("classes are sorted by value if all are numbers, else by bytes") {
  const auto sorted = [](Strings names) {
    sort_class_names(names);
    return names;
  };
  CHECK(sorted({"10", "9", "0", "1", "11", "2"}) == Strings{"0", "1", "2", "9", "10", "11"});
  CHECK(sorted({"010", "9", "002"}) == Strings{"002", "9", "010"});
  CHECK(sorted({"1", "01", "001"}) == Strings{"001", "01", "1"});
  CHECK(sorted({"1", "-2", "-10", "0", "-0.5"}) == Strings{"-10", "-2", "-0.5", "0", "1"});
  CHECK(sorted({"10.0", "2.50", "2.5", "2.05", "0.75"}) ==
        Strings{"0.75", "2.05", "2.5", "2.50", "10.0"});
  CHECK(sorted({"99999999999999999999", "100000000000000000000", "3"}) ==
        Strings{"3", "99999999999999999999", "100000000000000000000"});
  // If one is not a number, all are sorted as names.
  for (const char* name : {"a", "1e2", "+1", ".", "1.", ".5", "-", "1.2.3", "1 "}) {
    const Strings names = sorted({"9", "10", name});
    CHECK_MESSAGE(std::ranges::find(names, "10") < std::ranges::find(names, "9"), name);
  }
  CHECK(sorted({"c10", "c9", "C1"}) == Strings{"C1", "c10", "c9"});
}
