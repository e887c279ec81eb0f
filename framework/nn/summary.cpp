#include "framework/nn/summary.h"

#include "framework/nn/dry_pass.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace learn::nn {
namespace {

struct Call {
  std::string path;
  std::string text;
  Shape output;
  DType dtype;
};

class CallLog final : public ForwardObserver {
 public:
  void forwarded(const Module& module, const Var&, const Var& out) override {
    calls.push_back({module.path(), module.describe(), out.shape(), out.dtype()});
    paths.insert(module.path());
  }
  /// True if a module below `path` ran.
  [[nodiscard]] bool has_children(const std::string& path) const {
    if (path.empty()) return paths.size() > 1;
    const auto next = paths.lower_bound(path + ".");
    return next != paths.end() && next->starts_with(path + ".");
  }

  std::vector<Call> calls;
  std::set<std::string> paths;
};

/// Parameters by the module they belong to: the one they are named after, or a module without
/// children whose path starts the name. Parameters that the forward pass did not reach are not
/// under any path of it.
struct Owners {
  std::map<std::string, std::vector<std::int64_t>> of_path;
  std::vector<std::int64_t> unused;
};

Owners find_owners(const ParamStore& store, const CallLog& log) {
  Owners owners;
  for (std::int64_t i = 0; i < store.size(); ++i) {
    std::string path = store.info(i).name;
    bool direct = true;
    bool found = false;
    while (!found && !path.empty()) {
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
      found = log.paths.contains(path) && (direct || !log.has_children(path));
      direct = false;
    }
    if (found)
      owners.of_path[path].push_back(i);
    else
      owners.unused.push_back(i);
  }
  return owners;
}

std::string with_commas(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string batch_shape(const Shape& shape) {
  std::string text = "(N";
  for (int i = 1; i < shape.rank(); ++i) text += fmt::format(",{}", shape[i]);
  return text + ")";
}

LayerRow make_row(const ParamStore& store,
                  const Call& call,
                  const std::vector<std::int64_t>& owned,
                  bool again) {
  std::int64_t count = 0;
  std::int64_t trained = 0;
  std::string precision;
  for (const std::int64_t i : owned) {
    const std::int64_t elements = store.info(i).shape.elements();
    count += elements;
    trained += store.slot(i).trainable ? elements : 0;
    const std::string name = name_of(store.slot(i).value.dtype());
    if (precision.find(name) == std::string::npos)
      precision += (precision.empty() ? "" : "+") + name;
  }
  const bool any = !owned.empty();
  return {
      call.path.empty() ? "(model)" : call.path,
      call.text,
      batch_shape(call.output) + (call.dtype == DType::f32 ? "" : fmt::format(" {}", call.dtype)),
      !any    ? ""
      : again ? "shared"
              : with_commas(count),
      any ? precision : name_of(call.dtype),
      !any              ? ""
      : trained == 0    ? "no"
      : trained < count ? "partly"
                        : "yes"};
}

std::string format_table(const std::vector<LayerRow>& layers) {
  constexpr std::size_t kColumns = kLayerColumns.size();
  std::vector<LayerRow> rows(1);
  for (std::size_t c = 0; c < kColumns; ++c) rows[0][c] = kLayerColumns[c];
  rows.insert(rows.end(), layers.begin(), layers.end());
  std::array<std::size_t, kColumns> widths{};
  for (const LayerRow& row : rows)
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < kColumns; ++c)
      line += c == 3 ? fmt::format("{:>{}}  ", rows[r][c], widths[c])
                     : fmt::format("{:<{}}  ", rows[r][c], widths[c]);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) {
      std::size_t total = 2 * (kColumns - 1);
      for (const std::size_t width : widths) total += width;
      text += std::string(total, '-') + "\n";
    }
  }
  return text;
}

/// Each weight (K,...) of a layer is used once per output position: out.elements() / K times.
std::int64_t multiply_adds(const ParamStore& store, const CallLog& log, const Owners& owners) {
  std::int64_t total = 0;
  for (const Call& call : log.calls) {
    const auto owned = owners.of_path.find(call.path);
    if (owned == owners.of_path.end() || log.has_children(call.path)) continue;
    for (const std::int64_t i : owned->second) {
      const ParamInfo& info = store.info(i);
      if (info.role == ParamRole::weight && info.shape.rank() >= 2)
        total += call.output.elements() / info.shape[0] * info.shape.elements();
    }
  }
  return total;
}

std::string format_totals(const ParamStore& store,
                          const Shape& input,
                          const CallLog& log,
                          const Owners& owners,
                          const std::optional<DType>& autocast) {
  const std::int64_t count = store.parameter_count();
  const std::int64_t trained = store.trainable_count();
  std::string text = fmt::format(
      "{} parameters, {} trained, {} frozen\n"
      "{} multiply-adds in convolutions and linear layers for one sample {}\n"
      "layer groups: {}, precision: {}{}\n",
      with_commas(count),
      with_commas(trained),
      with_commas(count - trained),
      with_commas(multiply_adds(store, log, owners)),
      input,
      store.layer_groups(),
      store.working_dtype(),
      autocast ? fmt::format(", autocast to {}", *autocast) : "");
  for (const ModulePlace& module : store.modules())
    if (module.in_f32)
      text += fmt::format("kept in f32: {}\n", module.path.empty() ? "(model)" : module.path);
  for (const std::int64_t i : owners.unused)
    text += fmt::format(
        "not used by the forward pass: {} {}\n", store.info(i).name, store.info(i).shape);
  return text;
}

}  // namespace

Summary summarize(Module& model,
                  ParamStore& store,
                  const Shape& input,
                  Context& ctx,
                  const std::optional<DType>& autocast) {
  check<UsageError>(store.materialized(),
                    "summary: the parameters have no memory yet: call ParamStore::materialize");
  CallLog log;
  dry_pass(model, store, input, ctx, log, autocast);

  const Owners owners = find_owners(store, log);
  Summary result;
  std::set<std::string> seen;
  for (const Call& call : log.calls) {
    const auto owned = owners.of_path.find(call.path);
    const bool owns = owned != owners.of_path.end();
    if (!owns && log.has_children(call.path)) continue;
    const bool again = !seen.insert(call.path).second;
    result.layers.push_back(
        make_row(store, call, owns ? owned->second : std::vector<std::int64_t>(), again));
  }
  result.totals = format_totals(store, input, log, owners, autocast);
  return result;
}

std::string summary(Module& model,
                    ParamStore& store,
                    const Shape& input,
                    Context& ctx,
                    const std::optional<DType>& autocast) {
  const Summary s = summarize(model, store, input, ctx, autocast);
  return format_table(s.layers) + "\n" + s.totals;
}

}  // namespace learn::nn
