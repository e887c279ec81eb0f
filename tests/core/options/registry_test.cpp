#include "framework/core/options/registry.h"

#include <doctest/doctest.h>

using namespace learn;

namespace {

enum class Shade { light, dark };

struct LampOptions {
  double watts = 40;
  Shade shade = Shade::light;
  std::optional<std::string> label;
};

/// "40 W light room": what the options were when it was made.
Registry<std::string(const std::string& room)> lamps() {
  Registry<std::string(const std::string&)> registry("lamp");
  registry.add(
      "reading",
      "for a desk",
      LampOptions{},
      [](OptionTable& t, LampOptions& o) {
        t.number("watts", o.watts, kPositive, "X", "power");
        t.choice("shade", o.shade, {{"light", Shade::light}, {"dark", Shade::dark}}, "of the lamp");
        t.text("label", o.label, "TEXT", "on it");
      },
      [](const LampOptions& o, const std::string& room) {
        return fmt::format("{} W {} {}{}",
                           o.watts,
                           o.shade == Shade::light ? "light" : "dark",
                           room,
                           o.label ? " " + *o.label : "");
      });
  registry.add("candle", "without options", [](const std::string& room) { return room; });
  registry.refuse("sun", "it is too far away; open a window");
  return registry;
}

std::string made(std::string_view spec) { return lamps().make(spec)("hall"); }

}  // namespace

TEST_CASE("registered things are created by name, with the given options") {
  CHECK(made("candle") == "hall");
  CHECK(made("reading") == "40 W light hall");
  CHECK(made("reading:watts=7.5,shade=dark") == "7.5 W dark hall");
  CHECK(made("reading:label=(a,b=(c))") == "40 W light hall a,b=(c)");
  CHECK(lamps().names() == std::vector<std::string>{"candle", "reading"});
  CHECK(lamps().help("candle") == "without options");
}

TEST_CASE("each created thing has its own options") {
  const auto registry = lamps();
  const auto first = registry.make("reading:watts=1");
  const auto second = registry.make("reading");
  CHECK(first("a") == "1 W light a");
  CHECK(second("a") == "40 W light a");
  const auto configured = registry.configure("reading");
  CHECK(configured.options.names() == std::vector<std::string>{"watts", "shade", "label"});
  CHECK(configured.options.find("shade")->help_with_default() == "of the lamp [default: light]");
  CHECK(configured.options.find("label")->help_with_default() == "on it");
  configured.options.find("watts")->set("9");
  CHECK(configured.make("a") == "9 W light a");
}

TEST_CASE("unknown specs are refused with the known ones") {
  const auto refused = [](const char* spec, const char* why) {
    CAPTURE(spec);
    CHECK_THROWS_WITH_AS((void)made(spec), doctest::Contains(why), UsageError);
  };
  refused("readng", "unknown lamp 'readng'; did you mean 'reading'? (known: candle, reading)");
  refused("sun:watts=1",
          "lamp 'sun' cannot be created from text: it is too far away; open a window");
  refused("reading:wats=1", "reading has no option 'wats'; did you mean 'watts'?; it has: watts");
  refused("candle:watts=1", "candle has no option 'watts'; it has: none");
  refused("reading:watts=one", "reading: watts=one: 'one' is not a number");
  refused("reading:watts=0", "reading: watts=0: 0 is not above 0");
  refused("reading:shade=grey", "unknown shade 'grey' (known: light, dark)");
  refused("reading:watts=1,watts=2", "reading: option 'watts' is given twice");
  refused("reading:watts", "'watts' is not of the form key=value");
  refused("reading:=1", "'=1' is not of the form key=value");
  refused("reading:label=(a,b", "parentheses");
  refused("reading:label=a)", "parentheses");
}

TEST_CASE("names are taken once") {
  auto registry = lamps();
  CHECK_THROWS_AS(registry.add("candle", "again", [](const std::string&) { return ""; }),
                  std::logic_error);
  OptionTable table;
  double x = 0;
  table.number("x", x, kAnyNumber, "X", "a number");
  CHECK_THROWS_AS(table.number("x", x, kAnyNumber, "X", "again"), std::logic_error);
}
