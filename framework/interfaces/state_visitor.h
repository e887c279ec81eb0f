#pragma once
#include "framework/core/error.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace learn {

/// Limits of an integer in a state, both included. By default a count of samples, steps or epochs.
/// Sums of them do not overflow, and a double holds them exactly.
struct IntegerLimits {
  static constexpr std::int64_t kMax = std::int64_t{1} << 53U;
  std::int64_t low = 0;
  std::int64_t high = kMax;
};

/// Limits of a real number in a state, both included. By default not negative and finite.
struct RealLimits {
  double low = 0;
  double high = std::numeric_limits<double>::max();
};
inline constexpr RealLimits kFiniteLimits{.low = std::numeric_limits<double>::lowest()};
/// Finite as a float too.
inline constexpr RealLimits kFloatLimits{
    .low = static_cast<double>(std::numeric_limits<float>::lowest()),
    .high = static_cast<double>(std::numeric_limits<float>::max())};

/// Everything that has state shows it through one function, `visit_state(StateVisitor&)`, and
/// saving, loading, counting and printing are visitors. Names are made unique by scopes: "momentum"
/// inside Scope("optimizer") becomes "optimizer.momentum".
///
/// A number that is used to count, to index or to reserve memory is visited with its limits: what
/// is loaded may have been damaged.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// True when values are written into the visited object, false when they are read from it.
  [[nodiscard]] virtual bool loading() const = 0;

  /// Contents only: shape, dtype and memory are unchanged.
  void visit(std::string_view name, Tensor& tensor) { on_tensor(full(name), tensor); }
  void visit(std::string_view name, std::int64_t& value) { on_integer(full(name), value); }
  void visit(std::string_view name, double& value) { on_real(full(name), value); }
  void visit(std::string_view name, std::string& value) { on_text(full(name), value); }
  void visit(std::string_view name, bool& value) {
    std::int64_t number = value ? 1 : 0;
    visit(name, number, {.low = 0, .high = 1});
    value = number != 0;
  }
  /// Both throw CheckpointError that names the number for one that was loaded and lies outside of
  /// its limits, NaN included.
  void visit(std::string_view name, std::int64_t& value, const IntegerLimits& limits) {
    visit(name, value);
    check_loaded(name, value, limits);
  }
  void visit(std::string_view name, double& value, const RealLimits& limits) {
    visit(name, value);
    check_loaded(name, value, limits);
  }
  /// For elements of a tensor.
  template <class T, class Limits>
  void check_loaded(std::string_view name, T value, const Limits& limits) const {
    if (!loading() || (value >= limits.low && value <= limits.high)) return;
    fail<CheckpointError>("'{}' is {} in the checkpoint; here it can be {} to {}",
                          full(name),
                          value,
                          limits.low,
                          limits.high);
  }

  /// Prefixes names during its lifetime.
  class Scope {
   public:
    Scope(StateVisitor& visitor, std::string_view name)
        : visitor_(visitor), before_(visitor.prefix_) {
      visitor_.prefix_ += name;
      visitor_.prefix_ += '.';
    }
    ~Scope() { visitor_.prefix_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StateVisitor& visitor_;
    std::string before_;
  };

 protected:
  virtual void on_tensor(const std::string& name, Tensor& tensor) = 0;
  virtual void on_integer(const std::string& name, std::int64_t& value) = 0;
  virtual void on_real(const std::string& name, double& value) = 0;
  virtual void on_text(const std::string& name, std::string& value) = 0;

 private:
  [[nodiscard]] std::string full(std::string_view name) const {
    return prefix_ + std::string(name);
  }
  std::string prefix_;
};

}  // namespace learn
