#pragma once
#include "framework/autograd/param_slot.h"
#include "framework/interfaces/state_visitor.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn::nn {

/// The role of a parameter. It determines weight decay and which parameters stay f32 in a half
/// model.
enum class ParamRole : std::uint8_t {
  weight,         ///< decayed; cast under mixed precision
  weight_length,  ///< weight normalization's g: decayed; always used in f32
  bias,           ///< not decayed by default; cast under mixed precision
  norm_weight,    ///< not decayed by default; always used in f32
  norm_bias,      ///< the same
};

/// The precision in which the weights of a half model are updated.
enum class Masters : std::uint8_t {
  f32,   ///< f32 masters, of which the model has half copies
  none,  ///< the halves themselves: every update is rounded to them
};

/// The values that parameters have when they get their memory.
enum class InitialValues : std::uint8_t {
  drawn,  ///< by the inits
  none,   ///< zeros, which take no time, for parameters that are all loaded, or never used
};

class Module;

/// True for BatchNorm parameters.
[[nodiscard]] constexpr bool is_norm(ParamRole role) noexcept {
  return role == ParamRole::norm_weight || role == ParamRole::norm_bias;
}
/// True for weights and their lengths, which are decayed and share a parameter group.
[[nodiscard]] constexpr bool is_weight(ParamRole role) noexcept {
  return role == ParamRole::weight || role == ParamRole::weight_length;
}
/// True for parameters that always stay f32.
[[nodiscard]] constexpr bool is_f32(ParamRole role) noexcept {
  return is_norm(role) || role == ParamRole::weight_length;
}

/// Fills a parameter's values, given as f32 on the host. `seed` and `stream` identify it to
/// `random4(seed, RandomPurpose::init, stream, element)`.
using Init = std::function<void(Tensor& values, std::uint64_t seed, std::uint64_t stream)>;

struct ParamInfo {
  std::string name;
  Shape shape;
  ParamRole role = ParamRole::weight;
  int layer_group = 0;
  /// It stays f32 in a half model: see `is_f32`; and those of modules that compute in f32 do.
  /// Without masters it is a half like all others, and used in f32.
  bool keeps_f32 = false;
  bool fixed = false;  ///< never trained, whichever groups are frozen
};

/// A module's place in its store.
struct ModulePlace {
  std::string path;
  const Module* module = nullptr;  ///< null for one that was only named
  std::int64_t first_param = 0;    ///< parameters declared before it
  bool declared_f32 = false;       ///< set by `Scope::in_f32`
  /// It always computes in f32, with all modules within.
  bool in_f32 = false;
};

/// The content of a parameter group: the weights of a layer group, or its BatchNorm parameters and
/// biases. Groups are numbered 2 g and 2 g + 1.
struct ParamGroup {
  int layer_group = 0;
  bool weights = true;
};
[[nodiscard]] constexpr int index_of(const ParamGroup& group) noexcept {
  return 2 * group.layer_group + (group.weights ? 0 : 1);
}
[[nodiscard]] constexpr ParamGroup param_group(int index) noexcept {
  return {index / 2, index % 2 == 0};
}

/// The parameter group of a parameter.
[[nodiscard]] constexpr int group_of(const ParamInfo& info) noexcept {
  return index_of({info.layer_group, is_weight(info.role)});
}

/// A piece of the flat buffers that belongs to one parameter group, in elements: both numbers are
/// multiples of `ParamStore::kAlign`, gaps included.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t first_param = 0;  ///< index of the parameter that starts here
};

/// A handle to a parameter of a store: cheap to copy, valid during the lifetime of the store.
using Param = ParamSlot*;

/// A handle to a buffer: state of the model that is not trained (running statistics). It is always
/// f32, or f64 in an f64 store.
struct BufferSlot {
  std::string name;
  Tensor value;
};
using Buffer = BufferSlot*;

/// Every parameter of a model, each kind of data in one flat buffer: working values, gradients, f32
/// masters, optimizer state. A parameter without a half copy in the model *is* its own master, the
/// same memory, so each weight has a single source of truth in every precision (ADR 0002).
///
/// The flat order is: parameter group by parameter group; in a group first what is cast under mixed
/// precision, then what stays f32; then declaration order. Every parameter starts at a multiple of
/// `kAlign` elements; the gaps are zero everywhere and stay zero.
///
/// Parameter groups are `2 * layer_groups()`: group 2g holds layer group g's weights, 2g+1 its
/// BatchNorm parameters and biases (fastai's split_bn_bias). Groups may be empty.
class ParamStore {
 public:
  static constexpr std::int64_t kAlign =
      16;  ///< 64 bytes of f32, 32 of halves: full vectors, no tails
  struct State {
    Tensor values;
    bool keeps_f32 = false;
  };

  // Out of line: a large class, made and destroyed in many files.
  ParamStore();
  ~ParamStore();
  ParamStore(const ParamStore&) = delete;
  ParamStore& operator=(const ParamStore&) = delete;

  // Declaration, by modules, before `materialize`.

  /// Throws Error for a duplicate name or after `materialize`.
  Param declare(std::string name, const Shape& shape, ParamRole role, Init init);
  /// Excludes a declared parameter from training for good. Throws UsageError for an unknown name.
  void fix(std::string_view name);
  Buffer declare_buffer(std::string name, const Shape& shape, double fill);
  /// Records the start of a module, so that `set_layer_groups` and `keep_f32` can name it. The
  /// reference stays valid.
  const ModulePlace& mark_module(std::string path,
                                 const Module* module = nullptr,
                                 bool in_f32 = false);
  /// The paths of all modules, in that order, each once; the model itself has the path "".
  [[nodiscard]] std::vector<std::string> module_paths() const;

  // Memory.

  /// Lays out and allocates everything in the context's persistent arena and runs the inits, keyed
  /// by `ctx.seed()` and the parameter's name. `dtype` f64 is for gradient checks: masters are f64
  /// then and no optimizer can be used.
  void materialize(Context& ctx,
                   DType dtype = DType::f32,
                   InitialValues values = InitialValues::drawn);
  [[nodiscard]] bool materialized() const noexcept { return ctx_ != nullptr; }
  [[nodiscard]] Context& context() const;

  /// Splits the modules into layer groups: group 0 starts at the first module, and each name of
  /// `boundaries` (module paths, in model order) starts the next group. Moves values, masters and
  /// optimizer state along. Throws UsageError for a path that does not exist or is out of order.
  void set_layer_groups(const std::vector<std::string>& boundaries);
  [[nodiscard]] int layer_groups() const noexcept { return layer_groups_; }
  [[nodiscard]] int groups() const noexcept { return 2 * layer_groups_; }

  /// The precision of the model: f32, f16 or bf16. Gradients are undefined afterwards. BatchNorm
  /// parameters stay f32. A half model has f32 masters, unless `masters` disables them: then
  /// weights, gradients and the optimizer's state become halves, including BatchNorm's (but not the
  /// running statistics), and returning to f32 does not restore the rounded digits. Throws
  /// DTypeError for another dtype, or if the masters are f64.
  void set_working_dtype(DType dtype, Masters masters = Masters::f32);
  [[nodiscard]] DType working_dtype() const noexcept { return working_dtype_; }
  /// f32; without masters f16 or bf16; f64 for gradient checks.
  [[nodiscard]] DType master_dtype() const noexcept { return master_.dtype(); }
  /// Selects modules that compute in f32 in a half model or under autocast, in addition to those
  /// that are declared so (`Scope::in_f32`): their parameters stay f32, their inputs are cast to
  /// f32 and their outputs to the dtype of the input. A name is a module's path, "layers.17", or a
  /// type, "Linear", as at the start of `Module::describe`; it includes all modules within.
  /// Replaces the names of an earlier call. Moves values as `set_layer_groups` does. Throws
  /// UsageError for a name that no module has.
  void keep_f32(const std::vector<std::string>& names);
  [[nodiscard]] const std::deque<ModulePlace>& modules() const noexcept { return modules_; }
  /// Casts the masters to the half copies again. Call it after anything other than an optimizer
  /// wrote to masters. A Learner does so at the start of each pass over data, so its handlers need
  /// it only after writing within a pass. Does nothing if the model is f32.
  void refresh_working();

  // Access.

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(infos_.size());
  }
  [[nodiscard]] const ParamInfo& info(std::int64_t i) const {
    return infos_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] ParamSlot& slot(std::int64_t i) { return slots_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const ParamSlot& slot(std::int64_t i) const {
    return slots_[static_cast<std::size_t>(i)];
  }
  /// Index of a parameter by name, or -1.
  [[nodiscard]] std::int64_t find(std::string_view name) const;
  /// Scalars in all parameters (without alignment gaps), and in those that are trained.
  [[nodiscard]] std::int64_t parameter_count() const;
  [[nodiscard]] std::int64_t trainable_count() const;
  /// Views of one parameter in its own shape: of what the optimizer updates, and from what.
  [[nodiscard]] Tensor master(std::int64_t i) const;
  [[nodiscard]] Tensor master_grad(std::int64_t i) const;
  /// Place in the flat buffers.
  [[nodiscard]] std::int64_t offset(std::int64_t i) const {
    return offsets_[static_cast<std::size_t>(i)];
  }

  // Flat buffers, all of one length.

  [[nodiscard]] std::int64_t flat_size() const noexcept { return flat_size_; }
  [[nodiscard]] Tensor& flat_master() { return master_; }
  /// Gradients of the masters, in their dtype. If a parameter is its own master, its gradient is
  /// written here directly; otherwise `unscale_to_master_grads` writes it.
  [[nodiscard]] Tensor& flat_grad() { return grad_; }
  /// Half copies and their gradients in flat order; undefined without half copies.
  [[nodiscard]] Tensor& flat_half() { return half_; }
  [[nodiscard]] Tensor& flat_half_grad() { return half_grad_; }
  /// Buffers as one vector, and the copy that a skipped step restores.
  [[nodiscard]] Tensor& flat_buffers() { return buffers_; }
  [[nodiscard]] Tensor& flat_committed_buffers() { return committed_buffers_; }
  /// Makes the current buffers those that a skipped step restores. The step itself uses
  /// `kernels::end_step`, which depends on the step's found_inf.
  void commit_buffers();
  /// Goes back to the buffers that were committed last.
  void restore_buffers();
  [[nodiscard]] std::int64_t buffer_count() const noexcept {
    return static_cast<std::int64_t>(buffer_slots_.size());
  }
  [[nodiscard]] BufferSlot& buffer(std::int64_t i) {
    return buffer_slots_[static_cast<std::size_t>(i)];
  }

  /// Maximal runs of trained parameters of a group; `per_parameter` gives one run per parameter
  /// instead.
  [[nodiscard]] std::vector<Segment> segments(int group, bool per_parameter = false) const;
  /// Restricted to parameters that have a half copy in the model now (may be empty).
  [[nodiscard]] std::vector<Segment> half_segments(int group, bool per_parameter = false) const;
  /// Restricted to parameters that are their own masters.
  [[nodiscard]] std::vector<Segment> full_segments(int group, bool per_parameter = false) const;

  /// A flat buffer of optimizer state, zero at first, made at the first call with this name. It is
  /// of the masters' dtype, f32 always if `keeps_f32`; moves along with `set_layer_groups` and
  /// survives freezing. References stay valid.
  [[nodiscard]] Tensor& state(const std::string& name, bool keeps_f32 = false);
  void drop_states() { states_.clear(); }
  [[nodiscard]] std::map<std::string, State>& states() noexcept { return states_; }

  // Freezing. State of frozen parameters is kept.

  /// Trains layer groups [first, layer_groups()) only; negative counts from the end. BatchNorm
  /// parameters of frozen groups are trained too if `train_bn` (fastai's default). A fixed one
  /// stays so. Throws UsageError for an unknown group.
  void freeze_to(int first, bool train_bn = true);
  void unfreeze() { freeze_to(0); }
  void freeze(bool train_bn = true) { freeze_to(-1, train_bn); }

  // Step.

  /// Drops all gradients: the next backward pass overwrites them.
  void begin_gradients();
  /// Does this for half gradients that were accumulated elsewhere.
  void drop_half_gradients();

  /// Masters ("params.<name>"), buffers ("buffers.<name>") and states ("<state>.<name>"), each
  /// parameter by itself and never as halves, so that files do not depend on layer groups or
  /// precision. Loading
  /// refreshes the working copies and commits the buffers.
  void visit_state(StateVisitor& visitor);

 private:
  [[nodiscard]] Tensor view(const Tensor& flat, std::int64_t i) const;
  [[nodiscard]] bool has_half_copy(std::int64_t i) const;
  void visit_flat(StateVisitor& visitor, const Tensor& flat);
  void store_in(DType dtype);
  template <class Wanted>
  [[nodiscard]] std::vector<Segment> segments_of(int group,
                                                 bool per_parameter,
                                                 Wanted wanted) const;
  void mark_f32_params();
  void lay_out();
  void point_slots();
  void initialize_values();
  void make_buffers();
  void move_flat_buffers();

  Context* ctx_ = nullptr;
  DType dtype_ = DType::f32;
  DType working_dtype_ = DType::f32;
  int layer_groups_ = 1;
  std::int64_t flat_size_ = 0;
  std::vector<ParamInfo> infos_;
  std::map<std::string, std::int64_t, std::less<>> index_;  // by name
  std::vector<Init> inits_;
  std::deque<ParamSlot> slots_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> order_;  // parameter indices in flat order
  std::deque<BufferSlot> buffer_slots_;
  std::vector<Shape> buffer_shapes_;
  std::vector<double> buffer_fills_;
  std::deque<ModulePlace> modules_;
  Tensor master_, grad_, half_, half_grad_, buffers_, committed_buffers_;
  std::map<std::string, State> states_;
};

}  // namespace learn::nn
