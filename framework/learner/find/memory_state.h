#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/tensor/host_tensor.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace learn {

/// A checkpoint in memory: what a MemorySaver was shown, for a MemoryLoader to give back.
struct MemoryState {
  std::map<std::string, Tensor> tensors;  ///< on the host
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, double> reals;
  std::map<std::string, std::string> texts;
};

/// Copies a state on the host, as `Learner::visit_state` shows it.
class MemorySaver final : public StateVisitor {
 public:
  explicit MemorySaver(MemoryState& state) : state_(state) {}
  [[nodiscard]] bool loading() const override { return false; }

 protected:
  void on_tensor(const std::string& name, Tensor& tensor) override {
    Tensor& kept = state_.tensors[name];
    kept = host_tensor(tensor.shape(), tensor.dtype());
    std::memcpy(kept.raw(), tensor.raw(), tensor.bytes());
  }
  void on_integer(const std::string& name, std::int64_t& value) override {
    state_.integers[name] = value;
  }
  void on_real(const std::string& name, double& value) override { state_.reals[name] = value; }
  void on_text(const std::string& name, std::string& value) override { state_.texts[name] = value; }

 private:
  MemoryState& state_;
};

/// Gives it back. Throws std::out_of_range for a name that was never saved, CheckpointError for a
/// tensor of another shape or dtype.
class MemoryLoader final : public StateVisitor {
 public:
  explicit MemoryLoader(const MemoryState& state) : state_(state) {}
  [[nodiscard]] bool loading() const override { return true; }

 protected:
  void on_tensor(const std::string& name, Tensor& tensor) override {
    const Tensor& kept = state_.tensors.at(name);
    check<CheckpointError>(kept.shape() == tensor.shape() && kept.dtype() == tensor.dtype(),
                           "'{}' is {} {} there, {} {} here",
                           name,
                           kept.dtype(),
                           kept.shape(),
                           tensor.dtype(),
                           tensor.shape());
    std::memcpy(tensor.raw(), kept.raw(), tensor.bytes());
  }
  void on_integer(const std::string& name, std::int64_t& value) override {
    value = state_.integers.at(name);
  }
  void on_real(const std::string& name, double& value) override { value = state_.reals.at(name); }
  void on_text(const std::string& name, std::string& value) override {
    value = state_.texts.at(name);
  }

 private:
  const MemoryState& state_;
};

}  // namespace learn
