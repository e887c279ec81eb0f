#include "framework/core/options/suggest.h"

#include "framework/core/error.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("edits are counted, a swap of neighbours as one") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("bacth-size", "batch-size") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("only a near name is suggested") {
  const std::vector<std::string> known{"batch-size", "epochs", "lr", "out"};
  CHECK(nearest("bacth-size", known) == "batch-size");
  CHECK(nearest("epoch", known) == "epochs");
  CHECK(nearest("momentum", known).empty());
  CHECK(nearest("xy", known).empty());
  CHECK(nearest("abc", {"axy"}).empty());  // as are all words of three letters
  CHECK(nearest("adm", {"adam", "adama"}) == "adam");
  CHECK(nearest("batch", known) == "batch-size");  // abbreviated
  CHECK(nearest("ep", known).empty());
  CHECK(nearest("one", {"one-cycle", "one-more"}).empty());
  CHECK(nearest("Early-Stopping", {"early_stopping", "ema"}) == "early_stopping");
  CHECK(nearest("AdamW", {"adam", "adamw"}) == "adamw");
  CHECK(nearest("Linnear", {"linear", "Linear"}) == "Linear");
  CHECK(nearest("adam", {"adam", "adamw"}) == "adamw");  // never what was given
  CHECK(nearest("small", {"small"}).empty());
  CHECK(did_you_mean("epoch", known) == "; did you mean 'epochs'?");
  CHECK_THROWS_WITH_AS(require_known("model", "resnt9", {"resnet9", "small"}),
                       "unknown model 'resnt9'; did you mean 'resnet9'? (known: resnet9, small)",
                       UsageError);
  require_known("model", "small", {"resnet9", "small"});
}
