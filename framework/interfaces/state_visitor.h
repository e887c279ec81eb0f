#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace learn {

/// Everything that has state shows it through one function, `visit_state(StateVisitor&)`, and
/// saving, loading, counting and printing are visitors. Names are made unique by scopes: "momentum"
/// inside Scope("optimizer") becomes "optimizer.momentum".
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// True when values are written into the visited object, false when they are read from it.
  [[nodiscard]] virtual bool loading() const = 0;

  /// Contents only: shape, dtype and memory stay as they are.
  void visit(std::string_view name, Tensor& tensor) { on_tensor(full(name), tensor); }
  void visit(std::string_view name, std::int64_t& value) { on_integer(full(name), value); }
  void visit(std::string_view name, double& value) { on_real(full(name), value); }
  void visit(std::string_view name, std::string& value) { on_text(full(name), value); }
  void visit(std::string_view name, bool& value) {
    std::int64_t number = value ? 1 : 0;
    visit(name, number);
    value = number != 0;
  }

  /// Prefixes names while it lives.
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
