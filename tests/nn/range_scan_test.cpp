#include "framework/nn/range_scan.h"

#include "framework/nn/layers.h"
#include "framework/nn/model.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace learn;

namespace {

class Net final : public nn::Module {
 public:
  explicit Net(const nn::Scope& scope)
      : Module(scope),
        first_(scope / "first", 2, 5, {.bias = false}),
        norm_(scope / "norm", 5),
        last_(scope / "last", 5, 2) {}
  [[nodiscard]] std::string describe() const override { return "Net"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return last_(norm_(first_(x))); }

 private:
  nn::Linear first_;
  nn::BatchNorm1d norm_;
  nn::Linear last_;
};

struct Scanned {
  Scanned() { model.params->materialize(ctx); }
  void set_values(const std::string& name, const std::vector<double>& values) {
    Tensor master = model.params->master(model.params->find(name));
    REQUIRE(master.elements() == static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
      set(master, static_cast<std::int64_t>(i), values[i]);
  }
  [[nodiscard]] nn::RangeScan scan(DType half) { return nn::scan_range(*model.params, half); }
  [[nodiscard]] nn::ParamRange of(const std::string& name, DType half) {
    for (const nn::ParamRange& p : scan(half).params)
      if (p.name == name) return p;
    FAIL("no parameter " << name);
    return {};
  }

  Context ctx{{.threads = 1}};
  nn::Model model = nn::make_model<Net>("net", {2}, 2);
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a range scan counts what rounding to f16 would do at each border of its range") {
  Scanned net;
  // 65519.996 rounds down to 65504, 65520 to infinity; 2^-25 is a tie that goes to zero, and the
  // next f32 to 2^-24; 2^-14 is the smallest with all digits.
  const auto below = [](double x) {
    return static_cast<double>(std::nextafter(static_cast<float>(x), 0.0F));
  };
  const auto above = [](double x) {
    return static_cast<double>(std::nextafter(static_cast<float>(x), 1.0F));
  };
  net.set_values("first.weight",
                 {65504,
                  below(65520),
                  65520,
                  -3e5,
                  0,
                  0x1p-25,
                  -above(0x1p-25),
                  below(0x1p-14) - 0x1p-25,
                  -0x1p-14,
                  1});
  const nn::ParamRange range = net.of("first.weight", DType::f16);
  CHECK(range.count == 10);
  CHECK(range.cast);
  CHECK(range.overflow == 2);
  CHECK(range.zero == 1);
  CHECK(range.subnormal == 2);
  CHECK(range.not_finite == 0);
  CHECK(range.largest == 3e5);
  CHECK(range.share(range.overflow) == 0.2);
}

TEST_CASE("bf16 has the range of f32 except its last digits and its smallest numbers") {
  Scanned net;
  const double largest = static_cast<double>(std::numeric_limits<float>::max());
  const double smallest = static_cast<double>(std::numeric_limits<float>::denorm_min());
  net.set_values("first.weight", {65520, largest, -0x1.fep127, smallest, 0x1p-127, 1, 0, 0, 0, 0});
  const nn::ParamRange range = net.of("first.weight", DType::bf16);
  CHECK(range.overflow == 1);
  CHECK(range.zero == 1);
  CHECK(range.subnormal == 1);
  CHECK(range.largest == largest);
}

TEST_CASE("a range scan leaves out what stays f32 and counts what is not finite everywhere") {
  Scanned net;
  net.set_values("norm.weight", {1e6, 1, kInfinity, 1, 1});
  net.set_values("last.bias", {std::nan(""), 2});
  net.model.params->keep_f32({"last"});
  const nn::ParamRange norm = net.of("norm.weight", DType::f16);
  CHECK_FALSE(norm.cast);
  CHECK(norm.overflow == 0);
  CHECK(norm.not_finite == 1);
  CHECK(norm.largest == 1e6);
  CHECK_FALSE(net.of("last.weight", DType::f16).cast);
  CHECK(net.of("last.bias", DType::f16).not_finite == 1);
  CHECK(net.scan(DType::f16).overflowing().empty());
  net.model.params->keep_f32({"Net"});
  CHECK(net.scan(DType::f16).verdict() == "as f16: no parameters would be cast");
}

TEST_CASE("running statistics are scanned for negative variances") {
  Scanned net;
  CHECK(net.scan(DType::f16).bad_buffers.empty());
  nn::ParamStore& store = *net.model.params;
  set(store.buffer(0).value, 1, -1e9);  // a mean, and it stays f32
  CHECK(net.scan(DType::f16).bad_buffers.empty());
  set(store.buffer(0).value, 2, kInfinity);
  set(store.buffer(1).value, 0, -0.5);
  set(store.buffer(1).value, 3, std::nan(""));
  const std::vector<nn::BufferRange> bad = net.scan(DType::bf16).bad_buffers;
  REQUIRE(bad.size() == 2);
  CHECK(bad[0].name == "norm.running_mean");
  CHECK(bad[0].not_finite == 1);
  CHECK(bad[0].negative == 0);
  CHECK(bad[1].name == "norm.running_var");
  CHECK(bad[1].not_finite == 1);
  CHECK(bad[1].negative == 1);
  CHECK(bad[1].count == 5);
}

TEST_CASE("the verdict sums up and the worst parameters come first") {
  Scanned net;
  net.set_values("first.weight", {7e4, 1, 1, 1e-9, 1, 1, 1, 1, 1, 1});
  net.set_values("last.weight", {-9e4, 1e-9, 1e-9, 1, 1, 1, 1, 1e-6, 1, 1});
  net.set_values("last.bias", {1, 1});
  const nn::RangeScan scan = net.scan(DType::f16);
  CHECK(scan.verdict() ==
        "as f16: 2 of 22 values overflow (the largest is 9e+04), 14 % become zero, 4.5 % are "
        "subnormal, 0 are NaN or infinite already");
  REQUIRE(scan.overflowing().size() == 2);
  CHECK(scan.overflowing()[0].name == "last.weight");
  REQUIRE(scan.vanishing(0.1).size() == 2);
  CHECK(scan.vanishing(0.1)[0].name == "last.weight");
  CHECK(scan.vanishing(0.15).size() == 1);
  CHECK(scan.vanishing(0).size() == 2);
}

TEST_CASE("a range scan says what casting does and changes nothing") {
  Scanned net;
  net.set_values("first.weight", {7e4, 65519, 1e-8, 2e-8, 3e-8, 4e-8, 1e-5, 1e-4, 1, 0});
  nn::ParamStore& store = *net.model.params;
  const nn::ParamRange range = net.of("first.weight", DType::f16);
  CHECK(store.working_dtype() == DType::f32);
  store.set_working_dtype(DType::f16);
  std::int64_t infinite = 0;
  std::int64_t zero = 0;
  const Tensor& half = store.slot(store.find("first.weight")).value;
  for (std::int64_t i = 0; i < half.elements(); ++i) {
    infinite += std::isinf(get(half, i)) ? 1 : 0;
    zero += get(half, i) == 0 ? 1 : 0;
  }
  CHECK(range.overflow == infinite);
  CHECK(range.zero == zero - 1);  // one was zero before
}

TEST_CASE("only halves have a range to look at") {
  Scanned net;
  CHECK_THROWS_WITH_AS(
      (void)net.scan(DType::f32), doctest::Contains("the type must be f16 or bf16"), DTypeError);
}
