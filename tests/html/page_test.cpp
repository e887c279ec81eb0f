#include "framework/html/page.h"

#include "framework/core/error.h"
#include "framework/html/escape.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

using namespace learn;
using namespace learn::html;

namespace {

std::string page_with(std::vector<Block> blocks) {
  return render({.title = "a run", .sections = {{"Section", std::move(blocks)}}});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

plot::Image image_of(int width, int height) {
  return {
      width,
      height,
      std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height), std::uint8_t{77})};
}

}  // namespace

TEST_CASE("text is escaped wherever it stands") {
  const std::string evil = "<script>alert('x')</script>&\"";
  const std::string safe = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;";
  CHECK(escaped(evil) == safe);
  CHECK(escaped("tab\tand \x1b[31m") == "tab\tand \\x1b[31m");
  CHECK(escaped("Stra\xC3\x9F"
                "e \xFF") ==
        "Stra\xC3\x9F"
        "e \\xff");
  const std::string page = render(
      {.title = evil,
       .subtitle = evil,
       .sections = {{evil,
                     {Heading{evil},
                      Note{evil},
                      Facts{{{evil, evil, evil}}},
                      Table{.columns = {{evil}, {evil}}, .rows = {{{evil, evil}}}},
                      plot::Figure{.title = evil,
                                   .panels = {{.title = evil,
                                               .x_label = evil,
                                               .series = {{evil, {0, 1}, {0, 1}}},
                                               .y_label = evil}}},
                      plot::ImageGrid{
                          .title = evil, .subtitle = evil, .cells = {{{image_of(2, 2)}, {{evil}}}}},
                      plot::ConfusionFigure{
                          .title = evil, .classes = {evil, "b"}, .counts = {1, 2, 3, 4}}}}}});
  CHECK_FALSE(holds(page, "alert('x')<"));
  CHECK_FALSE(holds(page, "<script>alert"));
  CHECK(count(page, safe) >= 15);
  // In a script it is JSON, in which no tag can start.
  CHECK(count(page, R"("\u003cscript>alert('x')\u003c/script>&\"")") == 3);
}

TEST_CASE("nothing is loaded from anywhere") {
  const std::string page =
      page_with({plot::ImageGrid{.title = "images", .cells = {{{image_of(2, 2)}, {}}}}});
  CHECK(holds(page, "default-src 'none'"));
  for (const char* const outside : {"src=\"http", "href=\"http", "@import", "url(", "fetch("}) {
    CAPTURE(outside);
    CHECK_FALSE(holds(page, outside));
  }
  CHECK(holds(page, "src=\"data:image/png;base64,iVBORw0KGgo"));
}

TEST_CASE("base64 agrees with RFC 4648") {
  CHECK(png_url("") == "data:image/png;base64,");
  CHECK(png_url("f") == "data:image/png;base64,Zg==");
  CHECK(png_url("fo") == "data:image/png;base64,Zm8=");
  CHECK(png_url("foobar") == "data:image/png;base64,Zm9vYmFy");
}

TEST_CASE("curves are data of which each is a valid JSON number") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::string page = page_with({plot::Figure{
      .panels = {{.title = "Loss",
                  .x_label = "epoch",
                  .series = {{.name = "raw",
                              .x = {0, 0.5, 1, 2},
                              .y = {0.1F, kNan, -kInf, 1.5e-12},
                              .faint = true,
                              .color = 1},
                             {.name = "mean", .x = {1}, .y = {123456789}, .markers = true}},
                  .integer_x = true,
                  .log_y = true}}}});
  CHECK(holds(
      page,
      R"({"x_label":"epoch","y_label":"","integer_x":true,"log_x":false,"log_y":true,"may_change":true,)"
      R"("series":[{"name":"raw","x":[0.0,0.5,1.0,2.0],"y":[0.1,null,null,1.5e-12],)"
      R"("color":1,"markers":false,"faint":true,"dashed":false},)"
      R"({"name":"mean","x":[1.0],"y":[123457000.0],"color":0,"markers":true,)"
      R"("faint":false,"dashed":false}]})"));
}

TEST_CASE("bidirectional control characters in a legend are made visible") {
  const std::string page =
      page_with({plot::Figure{.panels = {{.title = "t",
                                          .x_label = "\xFF",
                                          .series = {{.name = "a\u202Eb", .x = {0}, .y = {0}}}}}}});
  CHECK(holds(page, R"("name":"a\\xe2\\x80\\xaeb")"));
  CHECK(holds(page, R"("x_label":"\\xff")"));
}

TEST_CASE("a table has headings, numbers to the right, and a box that hides what is the same") {
  const Table table{.columns = {{"option"}, {"value", true}},
                    .rows = {{{"lr", "0.1"}}, {{"seed"}, true}},
                    .hides_same = true};
  const std::string page = page_with({table});
  CHECK(holds(page, R"(<th scope="col">option</th><th scope="col" class="number">value</th>)"));
  CHECK(holds(page, R"(<tr><th scope="row">lr</th><td class="number">0.1</td></tr>)"));
  CHECK(holds(page, R"(<tr class="same"><th scope="row">seed</th><td class="number"></td></tr>)"));
  CHECK(holds(page, R"(<input type="checkbox" checked>)"));
  CHECK(holds(page, R"(<p class="none soft">Nothing differs.</p>)"));
  CHECK_FALSE(holds(page_with({Table{.columns = {{"a"}}}}), "checkbox"));
  CHECK_THROWS_WITH_AS(page_with({Table{.columns = {{"a"}}, .rows = {{{"1", "2"}}}}}),
                       doctest::Contains("a row of 2 cells in a table of 1 columns"),
                       UsageError);
}

TEST_CASE("a matrix shows counts and shares, and is an image for many classes") {
  const std::string page = page_with({plot::ConfusionFigure{
      .title = "net", .classes = {"cat", "dog"}, .counts = {8, 1, 0, 4}, .seen = {10, 4}}});
  CHECK(holds(page,
              R"(<td class="right strong" style="--share:80%" )"
              R"x(title="cat taken for cat: 8 of 10 (80.0 %)">8</td>)x"));
  CHECK(holds(page, R"x(title="cat taken for dog: 1 of 10 (10.0 %)">1</td>)x"));
  CHECK(holds(page, R"x(title="dog taken for cat: 0 of 4 (0.0 %)"></td>)x"));
  // Whether black or white is read on a colour.
  const std::string shares = page_with({plot::ConfusionFigure{
      .title = "", .classes = {"a", "b"}, .counts = {94, 6, 64, 36}, .seen = {100, 100}}});
  CHECK(holds(shares, R"(class="right strong whole" style="--share:94%")"));
  CHECK(holds(shares, R"(class="wrong strong" style="--share:64%")"));
  CHECK(holds(shares, R"(class="right" style="--share:36%")"));
  plot::ConfusionFigure many{.title = "net", .classes = {}, .counts = {}};
  for (int i = 0; i < 41; ++i) many.classes.push_back(std::to_string(i));
  many.counts.resize(41 * 41);
  const std::string large = page_with({many});
  CHECK_FALSE(holds(large, "class=\"matrix\""));
  CHECK(holds(large, "class=\"drawing\""));
  // No image of it and no share.
  const std::string none = page_with(
      {plot::ConfusionFigure{.title = "", .classes = {"a", "b"}, .counts = {0, 0, 0, 0}}});
  CHECK(holds(none, "title=\"a taken for b: 0 of 0\""));
  CHECK_THROWS_WITH_AS(
      page_with({plot::ConfusionFigure{.title = "", .classes = {"a", "b"}, .counts = {1}}}),
      doctest::Contains("of 2 classes with 1 counts"),
      UsageError);
}

TEST_CASE("images are small files, captions tell right from wrong without colour") {
  const std::string page = page_with({plot::ImageGrid{
      .title = "largest losses",
      .subtitle = "of ten",
      .cells = {{{image_of(640, 320)},
                 {{"dog 97 %", plot::kWrong, true}, {"is cat"}, {"loss 3", plot::kSoftInk}}},
                {{image_of(32, 32)}, {{"cat 99 %", plot::kRight}}}}}});
  CHECK(holds(page, "largest losses: of ten"));
  CHECK(holds(page, "width=\"224\" height=\"112\""));
  CHECK(holds(page, "width=\"32\" height=\"32\""));
  CHECK(holds(page, "alt=\"dog 97 %, is cat, loss 3\""));
  CHECK(holds(page,
              "<span class=\"wrong\">dog 97 %</span><span>is cat</span>"
              "<span class=\"soft\">loss 3</span>"));
  CHECK(holds(page, "<span class=\"right\">cat 99 %</span>"));
}

TEST_CASE("an image shows its source, and its path can be selected and copied") {
  const std::string page =
      page_with({plot::ImageGrid{.title = "losses",
                                 .cells = {{{image_of(2, 2)}, {{"cat"}}, "my data/<b>/0.png"},
                                           {{image_of(2, 2)}, {{"dog"}}, "image 7"},
                                           {{image_of(2, 2)}, {{"emu"}}, "data/<i>.png"},
                                           {{image_of(2, 2)}, {{"cow"}}}}}});
  CHECK(holds(page,
              R"(<span>cat</span><span class="source" title="my data/&lt;b&gt;/0.png">)"
              R"(<span>my data/&lt;b&gt;/</span><span>0.png</span></span>)"));
  CHECK(holds(page,
              R"(<span class="source" title="image 7"><span></span><span>image 7</span></span>)"));
  CHECK(holds(page, R"(<span>data/</span><span>&lt;i&gt;.png</span></span>)"));
  CHECK(count(page, "class=\"source\"") == 3);
  CHECK(holds(page, "navigator.clipboard.writeText"));
}

TEST_CASE("pairs are a table without a head") {
  const std::string page =
      page_with({Table{.columns = {{""}, {"run"}}, .rows = {{{"model", "mlp"}}}, .pairs = true}});
  CHECK(holds(
      page, "<div class=\"table pairs\">\n<div class=\"scroll\" tabindex=\"0\"><table>\n<tbody>"));
  CHECK(holds(page, R"(<tr><th scope="row">model</th><td>mlp</td></tr>)"));
}

TEST_CASE("the head has the lines under the title") {
  const std::string page = render({.title = "t",
                                   .subtitle = "net on data",
                                   .details = {"started today", "learn train <x>"},
                                   .sections = {}});
  CHECK(holds(page,
              R"(<h1>t</h1><p class="soft">net on data</p><p class="soft detail">started today</p>)"
              R"(<p class="soft detail">learn train &lt;x&gt;</p>)"));
}

TEST_CASE("a plot whose scale is fixed says so") {
  const auto panel = [](bool fixed) {
    return plot::Panel{.title = "t",
                       .x_label = "x",
                       .series = {{.name = "s", .x = {0}, .y = {1}}},
                       .fixed_scale = fixed};
  };
  CHECK(holds(page_with({plot::Figure{.panels = {panel(true)}}}), R"("may_change":false)"));
  CHECK(holds(page_with({plot::Figure{.panels = {panel(false)}}}), R"("may_change":true)"));
}

TEST_CASE("warnings, headings and facts, and sections that are linked") {
  const std::string page =
      render({.title = "t",
              .sections = {{"One", {Note{"plain"}, Note{"careful", true}}},
                           {"Two", {Heading{"h"}, Facts{{{"a", "1", "d"}}}}}}});
  CHECK(holds(page, "<p>plain</p>"));
  CHECK(holds(page, R"(<p class="warning" role="note">careful</p>)"));
  CHECK(holds(page, R"(<div><dt>a</dt><dd>1</dd><dd class="detail">d</dd></div>)"));
  CHECK(holds(page, R"(<a href="#s1">One</a><a href="#s2">Two</a>)"));
  CHECK(holds(page, R"(<section id="s2">)"));
}

TEST_CASE("equal pages have equal bytes, and are saved atomically") {
  const Page page{.title = "t", .sections = {{"s", {Note{"n"}}}}};
  CHECK(render(page) == render(page));
  const TemporaryFolder folder;
  save(folder / "page.html", page);
  std::ifstream in(folder / "page.html", std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == render(page));
  CHECK_THROWS_AS(save(folder / "not" / "there.html", page), IoError);
}
