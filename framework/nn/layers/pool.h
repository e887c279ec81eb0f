#pragma once
#include "framework/kernels/pool/pool_options.h"
#include "framework/nn/module.h"

namespace learn::nn {

/// Largest value of each window, (N,H,W,C) to (N,P,Q,C).
class MaxPool2d final : public Module {
 public:
  MaxPool2d(const Scope& scope, const Pool2dOptions& options) : Module(scope), options_(options) {}
  /// A square window that moves by its own size.
  MaxPool2d(const Scope& scope, std::int64_t window)
      : MaxPool2d(scope, Pool2dOptions::square(window, window)) {}
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  Pool2dOptions options_;
};

/// Mean of each window, (N,H,W,C) to (N,P,Q,C).
class AvgPool2d final : public Module {
 public:
  AvgPool2d(const Scope& scope, const Pool2dOptions& options) : Module(scope), options_(options) {}
  /// A square window that moves by its own size.
  AvgPool2d(const Scope& scope, std::int64_t window)
      : AvgPool2d(scope, Pool2dOptions::square(window, window)) {}
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  Pool2dOptions options_;
};

/// Mean over the whole image, (N,H,W,C) to (N,1,1,C): PyTorch's AdaptiveAvgPool2d(1).
class GlobalAvgPool final : public Module {
 public:
  explicit GlobalAvgPool(const Scope& scope) : Module(scope) {}
  [[nodiscard]] std::string describe() const override { return "GlobalAvgPool"; }

 protected:
  Var forward(const Var& x) override;
};

/// Maximum over the whole image, (N,H,W,C) to (N,1,1,C).
class GlobalMaxPool final : public Module {
 public:
  explicit GlobalMaxPool(const Scope& scope) : Module(scope) {}
  [[nodiscard]] std::string describe() const override { return "GlobalMaxPool"; }

 protected:
  Var forward(const Var& x) override;
};

}  // namespace learn::nn
