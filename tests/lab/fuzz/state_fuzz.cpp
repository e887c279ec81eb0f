// Any file as the state of a training: loaded into something as a learner has it.
#include "framework/io/checkpoint.h"
#include "framework/tensor/factory.h"
#include "tests/lab/fuzz/fuzz.h"

#include <map>

using namespace learn;

namespace {

struct State {
  Arena arena{"fuzz", cpu_pages()};
  Tensor weight = zeros(arena, {2, 3}, DType::f32);
  Tensor half = zeros(arena, {4}, DType::f16);
  Tensor losses = zeros(arena, {2}, DType::f64);
  Tensor steps = zeros(arena, {}, DType::i64);
  std::int64_t epoch = 0;
  double scale = 1;
  bool warm = false;
  std::string name;

  [[nodiscard]] std::map<std::string, Tensor> tensors() const {
    return {{"model.weight", weight}, {"model.half", half}, {"losses", losses}, {"steps", steps}};
  }
  void visit_state(StateVisitor& visitor) {
    {
      const StateVisitor::Scope scope(visitor, "model");
      visitor.visit("weight", weight);
      visitor.visit("half", half);
    }
    visitor.visit("losses", losses);
    visitor.visit("steps", steps);
    visitor.visit("epoch", epoch);
    visitor.visit("scale", scale);
    visitor.visit("warm", warm);
    visitor.visit("name", name);
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static State state;
  fuzz::may_refuse({ExitCode::checkpoint}, [&] {
    const std::filesystem::path path = fuzz::file_of({bytes, size});
    const Metadata metadata = load_state(path, [&](StateVisitor& v) { state.visit_state(v); });
    fuzz::require(metadata.at("state.name") == state.name);
    const SafetensorsFile file(path);
    for (const auto& [name, tensor] : state.tensors()) {
      fuzz::require(file.tensors().at(name).dtype == tensor.dtype());
      fuzz::require(file.tensors().at(name).shape == tensor.shape());
    }
  });
  return 0;
}
