#include "framework/autograd/autocast.h"

#include "framework/autograd/ops.h"

#include <algorithm>

namespace learn {
namespace {

bool may_be_cast(const Var& v) {
  return v.defined() && (v.dtype() == DType::f32 || is_half(v.dtype()));
}

DType widest_of(std::span<const Var> inputs) {
  std::optional<DType> widest;
  for (const Var& in : inputs) {
    if (!may_be_cast(in)) continue;
    widest = !widest || *widest == in.dtype() ? in.dtype() : DType::f32;
  }
  return widest.value_or(DType::f32);
}

}  // namespace

std::string_view text_of(CastClass cast_class) noexcept {
  switch (cast_class) {
    case CastClass::half:
      return "half";
    case CastClass::full:
      return "f32";
    case CastClass::widest:
      return "widest";
    case CastClass::given:
      break;
  }
  return "as given";
}

bool autocast_detail::cast_inputs(CastClass cast_class, std::span<Var> inputs) {
  if (cast_class == CastClass::given) return false;
  const auto first = std::find_if(inputs.begin(), inputs.end(), may_be_cast);
  if (first == inputs.end()) return false;
  Tape& tape = first->tape();
  const DType wanted = cast_class == CastClass::half   ? *tape.autocast()
                       : cast_class == CastClass::full ? DType::f32
                                                       : widest_of(inputs);
  bool any = false;
  for (Var& in : inputs) {
    if (!may_be_cast(in) || in.dtype() == wanted) continue;
    in = tape.cast_once(in, wanted);
    any = true;
  }
  return any;
}

std::vector<Var> autocast(CastClass cast_class, std::span<const Var> inputs) {
  if (inputs.empty() || !inputs.front().tape().autocast()) return {};
  std::vector<Var> cast(inputs.begin(), inputs.end());
  if (!autocast_detail::cast_inputs(cast_class, cast)) cast.clear();
  return cast;
}

AutocastRegion::AutocastRegion(Tape& tape, std::optional<DType> dtype)
    : tape_(tape), before_(tape.autocast()) {
  tape.set_autocast(dtype);
}

}  // namespace learn
