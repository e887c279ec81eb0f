#pragma once
#include "framework/autograd/ops.h"
#include "framework/nn/layers.h"
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"

#include <string>
#include <string_view>

/// Nets in which half precision fails at a known layer.
namespace tiny {

/// Gives on what it is given; the gradient it multiplies by a factor.
class Quiet final : public nn::Module {
 public:
  Quiet(const nn::Scope& scope, double factor) : Module(scope), factor_(factor) {}
  [[nodiscard]] std::string describe() const override { return "Quiet"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    return x.tape().record({x}, x.value(), Backward(factor_));
  }

 private:
  class Backward final : public Node {
   public:
    explicit Backward(double factor) : factor_(factor) {}
    [[nodiscard]] std::string_view name() const override { return "quiet"; }
    void backward(Tape& tape, const Tensor& dy) override {
      Tensor dx = tape.empty(dy.shape(), dy.dtype());
      for (std::int64_t i = 0; i < dy.elements(); ++i) set(dx, i, get(dy, i) * factor_);
      tape.pass_on(input(0), dx);
    }

   private:
    double factor_;
  };
  double factor_;
};

/// x + amount - amount, which costs the digits that `amount` has no place for.
class Offset final : public nn::Module {
 public:
  Offset(const nn::Scope& scope, double amount) : Module(scope), amount_(amount) {}
  [[nodiscard]] std::string describe() const override { return "Offset"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    if (amount_ == 0) return x;
    Tape& tape = x.tape();
    Tensor up = tape.empty(x.shape(), x.dtype());
    Tensor down = tape.empty(x.shape(), x.dtype());
    for (std::int64_t i = 0; i < up.elements(); ++i) {
      set(up, i, amount_);
      set(down, i, -amount_);
    }
    return ops::add(ops::add(x, tape.input(up)), tape.input(down));
  }

 private:
  double amount_;
};

/// Faults and their places; none by default.
struct Fate {
  double quiet = 1;   ///< gradients behind `first` are smaller by this factor
  double offset = 0;  ///< digits are lost in `offset`
};

class Block final : public nn::Module {
 public:
  explicit Block(const nn::Scope& scope)
      : Module(scope), linear_(scope / "linear", 8, 8, {.bias = false}), norm_(scope / "norm", 8) {}
  [[nodiscard]] std::string describe() const override { return "Block"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return norm_(linear_(x)); }

 private:
  nn::Linear linear_;
  nn::BatchNorm1d norm_;
};

/// first, quiet, block (linear, norm), offset, last.
class FatefulNet final : public nn::Module {
 public:
  explicit FatefulNet(const nn::Scope& scope, Fate fate = {})
      : Module(scope),
        first_(scope / "first", kFeatures, 8, {.bias = false}),
        quiet_(scope / "quiet", fate.quiet),
        block_(scope / "block"),
        offset_(scope / "offset", fate.offset),
        last_(scope / "last", 8, kFeatures) {}
  [[nodiscard]] std::string describe() const override { return "FatefulNet"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    return last_(offset_(block_(quiet_(first_(x)))));
  }

 private:
  nn::Linear first_;
  Quiet quiet_;
  Block block_;
  Offset offset_;
  nn::Linear last_;
};

}  // namespace tiny
