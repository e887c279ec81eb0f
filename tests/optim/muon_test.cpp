#include "framework/optim/muon.h"

#include "framework/nn/init.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

using Numbers = std::vector<double>;

struct Matrix {
  std::size_t rows, columns;
  Numbers v;
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return v[i * columns + j]; }
};

Matrix transposed(const Matrix& m) {
  Matrix out{m.columns, m.rows, Numbers(m.v.size())};
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t j = 0; j < m.columns; ++j) out.v[j * m.rows + i] = m.at(i, j);
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{a.rows, b.columns, Numbers(a.rows * b.columns)};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < b.columns; ++j)
      for (std::size_t k = 0; k < a.columns; ++k)
        out.v[i * b.columns + j] += a.at(i, k) * b.at(k, j);
  return out;
}

double norm(const Numbers& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

/// zeropower_via_newtonschulz5 of github.com/KellerJordan/Muon, in double.
Matrix orthogonal(Matrix x, int iterations) {
  if (x.rows > x.columns) return transposed(orthogonal(transposed(x), iterations));
  const double size = norm(x.v) + 1e-7;
  for (double& v : x.v) v /= size;
  for (int i = 0; i < iterations; ++i) {
    Matrix a = product(x, transposed(x));
    const Matrix aa = product(a, a);
    for (std::size_t k = 0; k < a.v.size(); ++k) a.v[k] = -4.7750 * a.v[k] + 2.0315 * aa.v[k];
    const Matrix bx = product(a, x);
    for (std::size_t k = 0; k < x.v.size(); ++k) x.v[k] = 3.4445 * x.v[k] + bx.v[k];
  }
  return x;
}

/// A wide and a tall matrix, biases, and a head.
struct Trained {
  explicit Trained(const optim::OptimizerFactory& factory,
                   DType working = DType::f32,
                   bool skipped = false)
      : wide(store.declare(
            "a.weight", {6, 3, 3, 2}, nn::ParamRole::weight, nn::init::normal(0, 1))) {
    store.declare("a.bias", {6}, nn::ParamRole::bias, nn::init::normal(0, 1));
    store.declare("b.weight", {9, 5}, nn::ParamRole::weight, nn::init::normal(0, 1));
    store.declare("head.weight", {3, 9}, nn::ParamRole::weight, nn::init::normal(0, 1));
    store.materialize(ctx);
    store.set_working_dtype(working);
    optimizer = factory(store);
    if (skipped) {
      StepControl control;
      control.found_inf = 1;
      optimizer->write_control(control);
    }
  }
  [[nodiscard]] Numbers values(const char* name) const {
    const Tensor master = store.master(store.find(name));
    Numbers out;
    for (std::int64_t i = 0; i < master.elements(); ++i) out.push_back(get(master, i));
    return out;
  }
  [[nodiscard]] static double gradient(std::int64_t param, std::int64_t i, std::int64_t step) {
    return static_cast<double>(
        static_cast<float>(std::sin(static_cast<double>(param * 100 + i * 7 + step * 31))));
  }
  void step(std::int64_t number) {
    for (std::int64_t p = 0; p < store.size(); ++p) {
      Tensor grad = store.master_grad(p);
      for (std::int64_t i = 0; i < grad.elements(); ++i) set(grad, i, gradient(p, i, number));
    }
    optimizer->step();
  }

  Context ctx{{.threads = 2}};
  nn::ParamStore store;
  nn::Param wide;
  std::unique_ptr<optim::Optimizer> optimizer;
};

/// A matrix after some steps, by the definition.
Numbers by_hand(const Trained& t,
                const char* name,
                const Numbers& first,
                std::size_t rows,
                const optim::MuonOptions& o,
                int steps) {
  Numbers w = first;
  Numbers b(w.size());
  for (int step = 0; step < steps; ++step) {
    Matrix u{rows, w.size() / rows, Numbers(w.size())};
    const bool coupled = o.decay == optim::WeightDecay::coupled;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = Trained::gradient(t.store.find(name), static_cast<std::int64_t>(i), step) +
                       (coupled ? o.weight_decay * w[i] : 0);
      b[i] = o.momentum * b[i] + g;
      u.v[i] = g + o.momentum * b[i];
    }
    const Matrix x = orthogonal(u, static_cast<int>(o.iterations));
    const double scale = o.normalize ? std::sqrt(static_cast<double>(rows)) / norm(w) : 1;
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = w[i] * scale * (coupled ? 1 : 1 - o.lr * o.weight_decay) - o.lr * x.v[i];
  }
  return w;
}

void check_close(const Numbers& a, const Numbers& b, double most) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < most);
}

constexpr int kSteps = 4;
// Sums of up to 18 products in f32, through five iterations that multiply small errors by 3.4.
constexpr double kRounding = 1e-4;

}  // namespace

TEST_CASE("matrices get orthogonal updates and all else Nesterov's") {
  for (const optim::MuonOptions& options :
       {optim::MuonOptions{.lr = 0.1},
        optim::MuonOptions{.lr = 0.1, .momentum = 0.6, .iterations = 3, .normalize = true},
        optim::MuonOptions{.lr = 0.1, .weight_decay = 0.5},
        optim::MuonOptions{.lr = 0.1, .weight_decay = 0.5, .decay = optim::WeightDecay::coupled}})
    for (const bool flat : {true, false}) {
      optim::MuonOptions o = options;
      o.flat = flat;
      Trained t(optim::muon(o));
      Trained sgd(optim::sgd({.lr = o.lr,
                              .momentum = o.momentum,
                              .nesterov = true,
                              .weight_decay = o.weight_decay,
                              .decay = o.decay}));
      const Numbers wide = t.values("a.weight"), tall = t.values("b.weight");
      for (int step = 0; step < kSteps; ++step) {
        t.step(step);
        sgd.step(step);
      }
      check_close(t.values("a.weight"), by_hand(t, "a.weight", wide, 6, o, kSteps), kRounding);
      check_close(t.values("b.weight"), by_hand(t, "b.weight", tall, 9, o, kSteps), kRounding);
      CHECK(t.values("a.bias") == sgd.values("a.bias"));
      CHECK(t.values("head.weight") == sgd.values("head.weight"));
    }
}

TEST_CASE("the update does not depend on the scale of the gradient") {
  Trained t(optim::muon({.lr = 0.1})), scaled(optim::muon({.lr = 0.1}));
  StepControl control;
  control.grad_multiplier = 64;
  scaled.optimizer->write_control(control);
  t.step(0);
  scaled.step(0);
  check_close(t.values("a.weight"), scaled.values("a.weight"), 1e-6);
  CHECK(t.values("a.bias") != scaled.values("a.bias"));
}

TEST_CASE("a step with gradients that are not finite changes nothing") {
  Trained t(optim::muon({.normalize = true}), DType::f32, true);
  const Numbers before = t.values("a.weight");
  for (std::int64_t i = 0; i < 6 * 18; ++i) {
    Tensor grad = t.store.master_grad(0);
    set(grad, i, HUGE_VAL);
  }
  t.optimizer->step();
  CHECK(t.values("a.weight") == before);
  Tensor& buffer = t.store.state("momentum_buffer");
  for (std::int64_t i = 0; i < buffer.elements(); ++i) CHECK(get(buffer, i) == 0);
}

TEST_CASE("half copies are the rounded matrices and gaps stay zero") {
  Trained t(optim::muon(), DType::f16);
  for (int step = 0; step < kSteps; ++step) t.step(step);
  const Numbers master = t.values("a.weight");
  for (std::size_t i = 0; i < master.size(); ++i)
    CHECK(get(t.wide->value, static_cast<std::int64_t>(i)) ==
          static_cast<double>(to_float(to_half(static_cast<float>(master[i])))));
  std::vector<bool> used(static_cast<std::size_t>(t.store.flat_size()));
  for (std::int64_t p = 0; p < t.store.size(); ++p)
    for (std::int64_t i = 0; i < t.store.info(p).shape.elements(); ++i)
      used[static_cast<std::size_t>(t.store.offset(p) + i)] = true;
  for (std::int64_t i = 0; i < t.store.flat_size(); ++i)
    if (!used[static_cast<std::size_t>(i)]) CHECK(get(t.store.flat_master(), i) == 0);
}

TEST_CASE("muon needs an iteration") {
  CHECK_THROWS_AS(Trained(optim::muon({.iterations = 0})), UsageError);
}
