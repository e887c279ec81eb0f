#include "callbacks/diagnose/param_audit.h"

#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "framework/autograd/ops.h"
#include "framework/kernels/cast/fill.h"
#include "framework/learner/learner.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace learn::callbacks {
namespace {

class CallCount final : public ForwardObserver {
 public:
  void forwarded(const nn::Module& module, const Var&, const Var&) override {
    ++calls_[module.path()];
  }
  /// Returns the calls of the module that a parameter is named after.
  [[nodiscard]] std::int64_t of(const std::string& param) const {
    const std::size_t dot = param.rfind('.');
    const auto found = calls_.find(dot == std::string::npos ? "" : param.substr(0, dot));
    return found == calls_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, std::int64_t> calls_;
};

/// Runs the model on zeros, and backward unless everything is frozen. Afterwards the slots show
/// which parameters have a gradient.
CallCount probe(Learner& learn) {
  Context& ctx = learn.context();
  const bool grad = learn.params().trainable_count() > 0;
  Shape batch{1};
  for (const std::int64_t extent : learn.model_info().input) batch.push_back(extent);
  CallCount calls;
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = grad});
  tape.observe(&calls);
  Tensor x = tape.empty(batch, DType::f32);
  kernels::fill(ctx, x, 0);
  const Var out = learn.model()(tape.input(x));
  learn.params().begin_gradients();
  if (grad) tape.backward(ops::mean(out));
  return calls;
}

/// The precision that the callbacks will set.
struct Precision {
  std::optional<DType> in_model, rounded;
  nn::Masters masters = nn::Masters::f32;
};

Precision precision_of(const Learner& learn) {
  if (const auto* half = learn.find<MixedPrecision>())
    return {half->options().dtype, half->options().dtype};
  if (const auto* pure = learn.find<PureHalf>())
    return {pure->options().dtype, pure->options().dtype, nn::Masters::none};
  if (const auto* amp = learn.find<NativeMixedPrecision>()) return {{}, amp->options().dtype};
  return {};
}

constexpr std::int64_t kFull = sizeof(float);
constexpr std::int64_t kHalf = sizeof(Half);

/// Names as text, such as "a, b, c and 2 more".
class Names {
 public:
  void add(const std::string& name) {
    constexpr std::size_t kShown = 4;
    if (shown_.size() < kShown)
      shown_.push_back(name);
    else
      ++more_;
  }
  [[nodiscard]] bool any() const { return !shown_.empty(); }
  [[nodiscard]] std::string text() const {
    return join(shown_) + (more_ > 0 ? fmt::format(" and {} more", more_) : "");
  }

 private:
  std::vector<std::string> shown_;
  std::int64_t more_ = 0;
};

std::vector<std::string> misuse_of(const std::vector<AuditedParam>& params) {
  Names trained;
  Names still;
  Names decayed;
  Names unused;
  for (const AuditedParam& p : params) {
    if (!p.trainable) continue;
    trained.add(p.name);
    if (p.lr == 0) still.add(p.name);
    if (p.weight_decay > 0 && !nn::is_weight(p.role)) decayed.add(p.name);
    if (p.without_gradient) unused.add(p.name);
  }
  std::vector<std::string> misuse;
  if (!trained.any()) misuse.emplace_back("all parameters are frozen: nothing is trained");
  if (still.any()) misuse.push_back("trained at a rate of 0: " + still.text());
  if (decayed.any())
    misuse.push_back("weight decay of biases or BatchNorm parameters: " + decayed.text());
  if (unused.any())
    misuse.push_back("trained, but not used by the forward pass, so they get no gradient: " +
                     unused.text());
  return misuse;
}

std::string decay_text(const AuditedParam& p) {
  if (p.weight_decay > 0) return fmt::format("{:g}", p.weight_decay);
  if (nn::is_norm(p.role)) return "none (norm)";
  return p.role == nn::ParamRole::bias ? "none (bias)" : "none";
}

std::string share_text(const nn::ParamRange& range, std::int64_t some) {
  return range.cast ? percent(range.share(some)) : "";
}

}  // namespace

ParamAudit audit_params(Learner& learn) {
  check<std::logic_error>(learn.progress().activity == Activity::none,
                          "audit_params cannot be called from a handler ({}): call it before or "
                          "after the fit",
                          learn.current_handler());
  nn::ParamStore& store = learn.params();
  const std::vector<float> rates = learn.options().lr.spread(store.layer_groups());
  const Precision precision = precision_of(learn);
  const CallCount calls = probe(learn);
  ParamAudit audit;
  for (std::int64_t i = 0; i < store.size(); ++i) {
    const nn::ParamInfo& info = store.info(i);
    const ParamSlot& slot = store.slot(i);
    AuditedParam p{.name = info.name, .shape = info.shape, .role = info.role};
    p.layer_group = info.layer_group;
    const optim::Optimizer& optimizer = learn.optimizer();
    p.lr = rates[static_cast<std::size_t>(info.layer_group)] * optimizer.lr_factor();
    if (!nn::is_weight(info.role)) p.lr *= static_cast<float>(optimizer.options().bn_bias_lr);
    p.weight_decay = optimizer.used_hypers(nn::group_of(info)).weight_decay;
    const bool has_masters = precision.masters == nn::Masters::f32;
    const bool half = precision.in_model && (!info.keeps_f32 || !has_masters);
    p.own_master = half && has_masters;
    if (half) p.in_model = *precision.in_model;
    p.trainable = slot.trainable;
    p.without_gradient = slot.trainable && !slot.has_grad();
    p.calls = calls.of(info.name);
    const std::int64_t kept = has_masters ? kFull : kHalf;
    std::int64_t each = 2 * kept + (p.own_master ? 2 * kHalf : 0);
    for (const auto& [name, state] : store.states()) each += state.keeps_f32 ? kFull : kept;
    p.bytes = each * info.shape.elements();
    audit.params.push_back(std::move(p));
  }
  store.begin_gradients();
  if (precision.rounded) audit.range = nn::scan_range(store, *precision.rounded, precision.masters);
  audit.misuse = misuse_of(audit.params);
  return audit;
}

std::string ParamAudit::to_string() const {
  using enum TextTable::Align;
  std::vector<TextTable::Column> columns{{"parameter"},
                                         {"shape"},
                                         {"group", right},
                                         {"rate", right},
                                         {"decay"},
                                         {"in model"},
                                         {"master"},
                                         {"trained"},
                                         {"calls", right},
                                         {"bytes", right}};
  if (range)
    for (const std::string_view what : {"overflow", "zero", "subnormal"})
      columns.push_back({fmt::format("{} in {}", what, range->half), right});
  TextTable table(std::move(columns));
  std::int64_t trained = 0;
  std::int64_t all = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const AuditedParam& p = params[i];
    std::vector<std::string> cells{p.name,
                                   fmt::format("{}", p.shape),
                                   std::to_string(p.layer_group),
                                   fmt::format("{:g}", p.lr),
                                   decay_text(p),
                                   name_of(p.in_model),
                                   p.own_master ? "own, f32" : "itself",
                                   p.trainable ? "yes" : "no",
                                   std::to_string(p.calls),
                                   grouped(p.bytes)};
    if (range) {
      const nn::ParamRange& r = range->params[i];
      for (const std::int64_t some : {r.overflow, r.zero, r.subnormal})
        cells.push_back(share_text(r, some));
    }
    table.row(std::move(cells));
    all += p.shape.elements();
    trained += p.trainable ? p.shape.elements() : 0;
    bytes += p.bytes;
  }
  std::string text = table.to_string();
  text += fmt::format("\n{} parameters, {} trained, {} frozen, {} bytes\n",
                      grouped(all),
                      grouped(trained),
                      grouped(all - trained),
                      grouped(bytes));
  if (range) text += range->verdict() + "\n";
  for (const std::string& line : misuse) text += "misuse: " + line + "\n";
  return text;
}

}  // namespace learn::callbacks
