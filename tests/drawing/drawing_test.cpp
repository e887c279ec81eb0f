#include "framework/drawing/drawing.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/drawing/pixels.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <png.h>

#include <array>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

using namespace learn;
using namespace learn::plot;

namespace {

constexpr Color kRed{255, 0, 0};
constexpr Color kGreen{0, 255, 0};

Image read_png(const std::filesystem::path& path) {
  png_image file{};
  file.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&file, path.c_str()) != 0);
  file.format = PNG_FORMAT_RGB;
  Image image{static_cast<int>(file.width),
              static_cast<int>(file.height),
              std::vector<std::uint8_t>(std::size_t{3} * file.width * file.height)};
  REQUIRE(png_image_finish_read(&file, nullptr, image.rgb.data(), 0, nullptr) != 0);
  return image;
}

/// Everything that can be drawn.
Drawing a_drawing() {
  Drawing drawing(200, 100, "a <title> & more");
  drawing.fill({10, 10, 30, 20}, kRed);
  drawing.clip({50, 0, 20, 20});
  drawing.disc({60, 10}, 30, {0, 0, 255}, 0.5);
  drawing.unclip();
  drawing.image({100, 10, 40, 40}, {2, 2, {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9}});
  drawing.polyline(std::vector<Point>{{0, 90}, {200, 90}}, {.thickness = 4, .color = kGreen});
  drawing.text({10, 60}, "Größe < 3 & 4", {});
  return drawing;
}

std::ptrdiff_t files_in(const TemporaryFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {});
}

}  // namespace

TEST_CASE("shapes are where they were drawn, at any scale") {
  const Drawing drawing = a_drawing();
  for (const double scale : {1.0, 2.0, 3.5}) {
    CAPTURE(scale);
    const Image image = drawing.render(scale);
    CHECK(image.width == 200 * scale);
    CHECK(image.height == 100 * scale);
    const auto at = [&](double x, double y) {
      return image.pixel(static_cast<int>(x * scale), static_cast<int>(y * scale));
    };
    CHECK(at(25, 20) == kRed);
    CHECK(at(5, 5) == kWhite);
    CHECK(at(45, 20) == kWhite);
    CHECK(at(100, 90) == kGreen);
    // Half transparent, and only inside of the clip.
    CHECK(close(at(60, 10), {127, 127, 255}, 1));
    CHECK(at(60, 25) == kWhite);
    // Enlarged to squares: no colour between two of them.
    CHECK(at(118, 28) == kRed);
    CHECK(at(122, 28) == kGreen);
    CHECK(at(122, 32) == Color{9, 9, 9});
  }
}

TEST_CASE("a large image is averaged when it is reduced") {
  Image stripes{400, 400, {}};
  for (int i = 0; i < 400 * 400; ++i)
    stripes.rgb.insert(stripes.rgb.end(), 3, static_cast<std::uint8_t>(i % 2 * 255));
  Drawing drawing(20, 20);
  drawing.image({0, 0, 20, 20}, stripes);
  const Image image = drawing.render(1);
  CHECK(close(image.pixel(10, 10), {128, 128, 128}, 8));
  CHECK(close(image.pixel(11, 10), {128, 128, 128}, 8));
}

TEST_CASE("text is set in a font with letters of several widths") {
  const TextStyle style;
  CHECK(Drawing::measure("iiii", style).width * 2 < Drawing::measure("WWWW", style).width);
  CHECK(Drawing::measure("", style).width == 0);
  const Size plain = Drawing::measure("learning rate", style);
  CHECK(plain.height > 12);
  CHECK(plain.height < 20);
  CHECK(Drawing::measure("learning rate", {.bold = true}).width > plain.width);
  CHECK(Drawing::measure("learning rate", {.size = 24}).width ==
        doctest::Approx(2 * plain.width).epsilon(0.02));
  CHECK(Drawing::measure("learning rate", {.upward = true}).height == doctest::Approx(plain.width));
  // Cut in the last line that there may be.
  CHECK(Drawing::measure("learning rate", {.width = 40}).width <= 40);
  CHECK(Drawing::measure("learning rate", {.width = 40}).height == doctest::Approx(plain.height));
  CHECK(Drawing::measure("learning rate", {.width = 60, .lines = 2}).height ==
        doctest::Approx(2 * plain.height));
  // A line break does not make a second line of a title.
  CHECK(Drawing::measure("learning\nrate", style).height == doctest::Approx(plain.height));
}

TEST_CASE("text is placed by its alignment and anchor") {
  const auto extent = [](const TextStyle& style) {
    Drawing drawing(400, 400);
    drawing.text({200, 200}, "HHHHHHHH", style);
    Extremes found = find_color(drawing.render(1), kInk, 0, -1, 150);
    REQUIRE(found.count > 20);
    return found;
  };
  CHECK(extent({}).left >= 199);
  CHECK(extent({.align = Align::right}).right <= 201);
  const Extremes centered = extent({.align = Align::center, .anchor = Anchor::middle});
  CHECK(std::abs(centered.left + centered.right - 400) <= 2);
  CHECK(std::abs(centered.top + centered.bottom - 400) <= 3);
  CHECK(extent({}).top >= 200);
  CHECK(extent({.anchor = Anchor::bottom}).bottom <= 200);
  // Rotated, its start is at the bottom.
  const Extremes turned = extent({.upward = true});
  CHECK(turned.bottom <= 201);
  CHECK(turned.left >= 200);
  CHECK(turned.bottom - turned.top > 4 * (turned.right - turned.left));
  // A limit to the width does not move it.
  const Extremes limited = extent({.align = Align::right, .width = 150});
  CHECK(limited.right <= 201);
  CHECK(limited.right >= 196);
}

TEST_CASE("a text that is cut in its middle keeps its end") {
  // A black block at the end, which no letter has.
  const auto ends_dark = [](bool cut_middle) {
    Drawing drawing(100, 20);
    drawing.text({0, 0},
                 "........................................\u2588",
                 {.width = 90, .cut_middle = cut_middle});
    return find_color(drawing.render(1), kInk, 4, 12, 60).count > 20;
  };
  CHECK(ends_dark(true));
  CHECK_FALSE(ends_dark(false));
}

TEST_CASE("an SVG holds its texts, so that they are found and read aloud") {
  const std::string svg = a_drawing().svg();
  CHECK(svg.find("<title>a &lt;title> &amp; more</title>") != std::string::npos);
  CHECK(svg.find("Größe &lt; 3 &amp; 4") != std::string::npos);
  CHECK(svg.find("role=\"img\"") != std::string::npos);
  CHECK(svg.find("width=\"200") != std::string::npos);
  CHECK(svg.find("</svg>") != std::string::npos);
}

TEST_CASE("bytes that are not UTF-8 or not allowed in XML do not break a drawing") {
  Drawing drawing(100, 30, "bell \a caf\xff");
  drawing.text({0, 0},
               "a\xff"
               "b\x01",
               {});
  CHECK(drawing.texts() == std::vector<std::string>{"a\xEF\xBF\xBD"
                                                    "b\x01"});
  const std::string svg = drawing.svg();
  CHECK(svg.find('\x01') == std::string::npos);
  CHECK(svg.find('\a') == std::string::npos);
  CHECK(svg.find('\xff') == std::string::npos);
  CHECK(svg.find("caf\\xff</title>") != std::string::npos);
}

TEST_CASE("equal drawings are equal bytes, whatever was drawn between them") {
  const std::string svg = a_drawing().svg();
  Drawing other(50, 50);
  other.text({0, 0}, "something else", {.size = 30});
  other.image({0, 0, 9, 9}, {1, 1, {1, 2, 3}});
  const std::string others = other.svg();
  CHECK(a_drawing().svg() == svg);
  CHECK(a_drawing().render(2).rgb == a_drawing().render(2).rgb);
  // Names within the two documents differ, so that both can be in one page.
  const auto first_name = [](const std::string& text) {
    const std::size_t at = text.find(" id=\"") + 5;
    return text.substr(at, text.find('-', at) - at);
  };
  CHECK(first_name(svg) != first_name(others));
  // Whatever is referred to is there.
  std::size_t uses = 0;
  for (std::size_t at = 0; (at = svg.find("href=\"#", at)) != std::string::npos; ++uses) {
    at += 7;
    CHECK(svg.find(" id=\"" + svg.substr(at, svg.find('"', at) - at) + "\"") != std::string::npos);
  }
  CHECK(uses > 5);
}

TEST_CASE("several threads draw at once") {
  const std::string expected = a_drawing().svg();
  constexpr std::size_t kThreads = 4;
  std::array<std::string, kThreads> drawn;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (std::string& one : drawn)
      threads.emplace_back([&one] {
        for (int i = 0; i < 5; ++i) one = a_drawing().svg();
      });
  }
  for (const std::string& one : drawn) CHECK(one == expected);
}

TEST_CASE("a file is a PNG or an SVG by its ending, and whole or not there") {
  const TemporaryFolder folder;
  const Drawing drawing = a_drawing();
  drawing.save(folder / "a.png");
  const Image image = read_png(folder / "a.png");
  CHECK(image.width == 400);
  CHECK(image.rgb == drawing.render(2).rgb);
  drawing.save(folder / "a.png", 1);
  CHECK(read_png(folder / "a.png").width == 200);
  drawing.save(folder / "a.svg");
  CHECK(read_text_file(folder / "a.svg") == drawing.svg());
  CHECK(files_in(folder) == 2);
  for (const char* const name : {"a.jpg", "a", "a.PNG", "png", ".svg"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(drawing.save(folder / name),
                         doctest::Contains("a drawing is a .png or an .svg file"),
                         UsageError);
  }
  const std::string no_folder = "the folder '" + (folder / "no").string() + "'";
  for (const char* const name : {"a.png", "a.svg"}) {
    const std::filesystem::path file = folder / "no" / name;
    CHECK_THROWS_WITH_AS(drawing.save(file), doctest::Contains(no_folder.c_str()), IoError);
    CHECK_THROWS_WITH_AS(check_drawing_path(file), doctest::Contains(no_folder.c_str()), IoError);
  }
  std::filesystem::create_directory(folder / "b.png");
  CHECK_THROWS_AS(drawing.save(folder / "b.png"), IoError);
  CHECK(files_in(folder) == 3);
}

TEST_CASE("invalid drawings are refused") {
  CHECK_THROWS_WITH_AS(Drawing(0, 5), doctest::Contains("0 x 5"), UsageError);
  Drawing drawing(10, 10);
  CHECK_THROWS_WITH_AS(
      drawing.image({0, 0, 5, 5}, {2, 2, {1, 2, 3}}), doctest::Contains("2 x 2"), UsageError);
  CHECK_THROWS_WITH_AS((void)drawing.render(0), doctest::Contains("at a scale of 0"), UsageError);
  CHECK_THROWS_WITH_AS((void)drawing.render(4000), doctest::Contains("40000 x 40000"), UsageError);
}

TEST_CASE("a drawing that was moved from says so") {
  Drawing from(10, 20);
  Drawing to = std::move(from);
  CHECK(to.height() == 20);
  const std::vector<std::function<void()>> uses{[&] { (void)from.width(); },
                                                [&] { (void)from.height(); },
                                                [&] { (void)from.texts(); },
                                                [&] {
                                                  from.fill({0, 0, 5, 5}, {});
                                                },
                                                [&] { from.unclip(); },
                                                [&] { (void)from.render(); },
                                                [&] { (void)from.svg(); }};
  for (const auto& use : uses)
    CHECK_THROWS_WITH_AS(use(), doctest::Contains("was moved from"), std::logic_error);
  from = std::move(to);
  CHECK(from.width() == 10);
}
