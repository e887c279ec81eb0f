#include "framework/core/options/spec.h"

#include <doctest/doctest.h>

#include <array>

using namespace learn;

TEST_CASE("a spec is written as it is read") {
  const std::array<const char*, 4> texts{"small",
                                         "gradient_clip:limit=1,by=value",
                                         "param_scheduler:schedule=(cosine:start=1,end=0.1)",
                                         "a:b=((c))"};
  for (const char* const text : texts) {
    const Spec spec = Spec::parse(text);
    CHECK(spec.text() == text);
    const Spec again = Spec::parse(spec.text());
    CHECK(again.name == spec.name);
    CHECK(again.options == spec.options);
  }
  CHECK(Spec::parse("a:b=(c)").text() == "a:b=c");
}
