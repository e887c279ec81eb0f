#include "framework/drawing/axis.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace learn::plot;

namespace {

std::string labels(const Axis& axis) {
  std::string text;
  for (const Axis::Tick& tick : axis.ticks)
    if (!tick.label.empty()) text += (text.empty() ? "" : " ") + tick.label;
  return text;
}

}  // namespace

TEST_CASE("axes have round ticks inside their range") {
  const Axis axis = linear_axis(0.13, 2.31, 6);
  CHECK(labels(axis) == "0.5 1.0 1.5 2.0");
  CHECK(axis.low == 0.13);
  CHECK(axis.place(0.13) == 0);
  CHECK(axis.place(2.31) == 1);
  CHECK(labels(linear_axis(1.23, 2.43, 6)) == "1.4 1.6 1.8 2.0 2.2 2.4");
  CHECK(labels(linear_axis(0, 100, 5)) == "0 20 40 60 80 100");
  CHECK(labels(linear_axis(-1, 1, 4)) == "-1.0 -0.5 0 0.5 1.0");
  CHECK(labels(linear_axis(0.1, 0.9, 100000)).size() > 1000);
  CHECK_FALSE(axis.shows(NAN));
  CHECK_FALSE(axis.shows(INFINITY));
  CHECK(axis.shows(-1));
}

TEST_CASE("a range of one value is widened, and zero is the lower end of its own") {
  const Axis flat = linear_axis(5, 5, 4);
  CHECK(flat.low < 5);
  CHECK(flat.high > 5);
  CHECK(flat.ticks.size() >= 2);
  const Axis zero = linear_axis(0, 0, 4);
  CHECK(zero.low == 0);
  CHECK(zero.high == 1);
  const Axis one = log_axis(3, 3, 5);
  CHECK(one.low < 3);
  CHECK(one.high > 3);
  CHECK_FALSE(labels(one).empty());
}

TEST_CASE("an axis has only whole numbers if requested, from the first value of the data on") {
  CHECK(labels(linear_axis(1, 3, 6, true)) == "1 2 3");
  CHECK(labels(linear_axis(1, 1, 6, true)) == "1");
  const Axis epochs = linear_axis(0.002, 4, 6, true);
  CHECK(epochs.low == 0);
  CHECK(labels(epochs) == "0 1 2 3 4");
  CHECK(linear_axis(0.5, 4, 6, true).low == 0.5);
  CHECK(labels(linear_axis(0, 300, 6, true)) == "0 50 100 150 200 250 300");
}

TEST_CASE("numbers are as short as they can be, alike on an axis") {
  CHECK(number_label(20, 20, 100) == "20");
  CHECK(number_label(0.25, 0.05, 0.5) == "0.25");
  CHECK(number_label(-1e-18, 0.1, 1) == "0");
  CHECK(number_label(-0.5, 0.5, 1) == "-0.5");
  CHECK(number_label(3e-5, 1e-5, 3e-5) == "3×10⁻⁵");
  CHECK(number_label(1e-5, 1e-5, 3e-5) == "10⁻⁵");
  CHECK(labels(linear_axis(0, 2e6, 4)) == "0 0.5×10⁶ 1.0×10⁶ 1.5×10⁶ 2.0×10⁶");
  CHECK(labels(linear_axis(1e-12, 3e-12, 2)) == "10⁻¹² 2×10⁻¹² 3×10⁻¹²");
  CHECK(labels(linear_axis(1e300, 3e300, 2)) == "10³⁰⁰ 2×10³⁰⁰ 3×10³⁰⁰");
  // A power of ten would take more digits.
  CHECK(labels(linear_axis(1000000.01, 1000000.03, 2)) == "1000000.01 1000000.02 1000000.03");
}

TEST_CASE("a logarithmic axis has powers of ten, and what is between them where there is room") {
  const Axis rates = log_axis(1e-7, 10, 4);
  CHECK(labels(rates) == "10⁻⁶ 10⁻⁴ 10⁻² 10⁰");
  CHECK(rates.ticks.size() == 9);  // the others are small
  CHECK(rates.place(1e-7) == doctest::Approx(0));
  CHECK(rates.place(1e-3) == doctest::Approx(0.5));
  CHECK(rates.place(10) == doctest::Approx(1));
  CHECK_FALSE(rates.shows(0));
  CHECK_FALSE(rates.shows(-1));
  CHECK(rates.shows(1e-30));

  const Axis scale = log_axis(2, 200, 5);
  CHECK(labels(scale) == "2 5 10 20 50 100 200");
  CHECK(scale.ticks.size() == 19);
  CHECK(labels(log_axis(1e-3, 0.1, 5)) == "0.001 0.002 0.005 0.01 0.02 0.05 0.1");
  CHECK(labels(log_axis(1e-5, 1e-4, 5)) == "10⁻⁵ 2×10⁻⁵ 5×10⁻⁵ 10⁻⁴");
  // Less than a factor of 6.
  const Axis narrow = log_axis(1, 1.5, 5);
  CHECK(narrow.log);
  CHECK(labels(narrow) == "1.0 1.1 1.2 1.3 1.4 1.5");
  CHECK(narrow.place(1.25) > 0.5);
}

TEST_CASE("an axis of counts ends at a tick, at or above the largest") {
  const auto labels = [](std::int64_t most) {
    std::string all;
    const Axis axis = count_axis(most, 3);
    for (const Axis::Tick& tick : axis.ticks) all += (all.empty() ? "" : " ") + tick.label;
    CHECK(axis.low == 0);
    CHECK(axis.ticks.back().value == axis.high);
    CHECK(axis.high >= static_cast<double>(most));
    return all;
  };
  CHECK(labels(0) == "0 1");
  CHECK(labels(1) == "0 1");
  CHECK(labels(2) == "0 1 2");
  CHECK(labels(40) == "0 20 40");
  CHECK(labels(195) == "0 100 200");
  CHECK(labels(300) == "0 100 200 300");
  for (std::int64_t most = 3; most < 2000; most += 7) {
    const std::string all = labels(most);
    CAPTURE(all);
    CHECK(std::ranges::count(all, ' ') >= 2);
    CHECK(std::ranges::count(all, ' ') <= 4);
  }
}
