#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/runtime/transfer.h"

#include <string>

namespace learn {

/// The visitor that `Learner::visit_state` passes on: it lets a visitor of host memory, such as
/// those that read and write files, visit tensors on a context's device. Waits for the device at
/// each tensor.
class HostStagingVisitor final : public StateVisitor {
 public:
  /// Borrows both.
  HostStagingVisitor(Context& ctx, StateVisitor& visitor) : ctx_(ctx), visitor_(visitor) {}
  [[nodiscard]] bool loading() const override { return visitor_.loading(); }

 protected:
  void on_tensor(const std::string& name, Tensor& tensor) override {
    if (tensor.device().is_cpu()) return visitor_.visit(name, tensor);
    Tensor host = to_host(ctx_, tensor);
    visitor_.visit(name, host);
    if (loading()) copy(ctx_, to_device(ctx_, ctx_.step(), host), tensor);
  }
  void on_integer(const std::string& name, std::int64_t& value) override {
    visitor_.visit(name, value);
  }
  void on_real(const std::string& name, double& value) override { visitor_.visit(name, value); }
  void on_text(const std::string& name, std::string& value) override {
    visitor_.visit(name, value);
  }

 private:
  Context& ctx_;
  StateVisitor& visitor_;
};

}  // namespace learn
