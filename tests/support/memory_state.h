#pragma once
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"
#include "framework/tensor/state_visitor.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace learn::test {

/// A checkpoint in memory: `Save` fills it, `Load` reads it back. Loading a name that was never
/// saved throws std::out_of_range.
struct MemoryState {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, double> reals;
  std::map<std::string, std::string> texts;
};

class Save final : public StateVisitor {
 public:
  Save(Context& ctx, MemoryState& state) : ctx_(ctx), state_(state) {}
  [[nodiscard]] bool loading() const override { return false; }

 protected:
  void on_tensor(const std::string& name, Tensor& tensor) override {
    Tensor& kept = state_.tensors[name];
    if (!tensor.device().is_cpu()) {
      kept = to_host(ctx_, tensor);
      return;
    }
    kept = host_tensor(tensor.shape(), tensor.dtype());
    std::memcpy(kept.raw(), tensor.raw(), tensor.bytes());
  }
  void on_integer(const std::string& name, std::int64_t& value) override {
    state_.integers[name] = value;
  }
  void on_real(const std::string& name, double& value) override { state_.reals[name] = value; }
  void on_text(const std::string& name, std::string& value) override { state_.texts[name] = value; }

 private:
  Context& ctx_;
  MemoryState& state_;
};

class Load final : public StateVisitor {
 public:
  Load(Context& ctx, const MemoryState& state) : ctx_(ctx), state_(state) {}
  [[nodiscard]] bool loading() const override { return true; }

 protected:
  void on_tensor(const std::string& name, Tensor& tensor) override {
    const Tensor& saved = state_.tensors.at(name);
    if (tensor.device().is_cpu())
      std::memcpy(tensor.raw(), saved.raw(), tensor.bytes());
    else
      copy(ctx_, to_device(ctx_, ctx_.step(), saved), tensor);
  }
  void on_integer(const std::string& name, std::int64_t& value) override {
    value = state_.integers.at(name);
  }
  void on_real(const std::string& name, double& value) override { value = state_.reals.at(name); }
  void on_text(const std::string& name, std::string& value) override {
    value = state_.texts.at(name);
  }

 private:
  Context& ctx_;
  const MemoryState& state_;
};

}  // namespace learn::test
