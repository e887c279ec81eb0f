#include "framework/io/read_weights.h"

#include "framework/core/error.h"
#include "framework/core/format.h"
#include "framework/core/log.h"
#include "framework/io/not_finite.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace learn::detail {
namespace {

constexpr std::string_view kLengths = "weight_g";     // weight norm's g
constexpr std::string_view kDirections = "weight_v";  // and v

/// How a parameter or buffer comes out of a file.
enum class Origin : std::uint8_t {
  as_it_is,
  lengths,  ///< weight norm's g: of the rows of a plain weight
  product,  ///< a plain weight: of weight norm's v and g
};

struct Source {
  std::string name;  ///< in the model
  Tensor tensor;
  const TensorEntry* entry = nullptr;
  const TensorEntry* lengths = nullptr;  ///< of a product
  Origin origin = Origin::as_it_is;
};

/// The name without `ending`; nothing if it does not end so.
std::optional<std::string> stem_of(const std::string& name, std::string_view ending) {
  if (!name.ends_with(ending)) return {};
  return name.substr(0, name.size() - ending.size());
}

/// PyTorch's counters, which a model here does not have.
bool is_counter(std::string_view name) {
  return name.ends_with("num_batches_tracked") || name == "n_averaged";
}

class Reader {
 public:
  Reader(const SafetensorsFile& file,
         NamedEntries entries,
         nn::ParamStore& store,
         const ReadWeights& options)
      : file_(file),
        entries_(std::move(entries)),
        store_(store),
        options_(options),
        in_order_(places_of(store)) {
    for (const Place& place : in_order_) places_[place.name] = place.tensor;
    report_.classes = options.classes;
  }

  WeightsReport read() {
    if (options_.pytorch) unwrap();
    compare();
    if (options_.match == WeightsMatch::strict) check_strict();
    if (sources_.empty())
      fail<CheckpointError>(
          "nothing in '{}' fits the model:{}", file_.path().string(), report_.describe());
    if (options_.refuse_bad_values)
      for (const Source& source : sources_) check_values(source);
    for (Source& source : sources_) take(source);
    not_finite_.warn(file_.path());
    store_.refresh_working();
    store_.commit_buffers();
    return std::move(report_);
  }

 private:
  /// PyTorch's parametrizations.weight_norm has other names than weight_norm and reads both; so do
  /// we.
  [[nodiscard]] NamedEntries::const_iterator find(const std::string& name) const {
    if (const auto found = entries_.find(name); found != entries_.end()) return found;
    for (const auto& [ending, other] :
         {std::pair(kLengths, "original0"), std::pair(kDirections, "original1")})
      if (const auto stem = stem_of(name, ending))
        return entries_.find(*stem + "parametrizations.weight." + other);
    return entries_.end();
  }

  /// Data parallel, compiled and other wrapped models have a prefix before every name, and compiled
  /// parts one inside.
  void unwrap() {
    constexpr std::array<std::string_view, 3> kInside{
        "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};
    std::set<std::string> dropped;
    NamedEntries names;
    for (const auto& [theirs, entry] : entries_) {
      std::string name = theirs;
      for (const std::string_view wrapper : kInside)
        for (std::size_t at = 0; (at = name.find(wrapper, at)) != std::string::npos;) {
          if (at > 0 && name[at - 1] != '.') {
            ++at;
            continue;
          }
          name.erase(at, wrapper.size());
          dropped.emplace(wrapper);
        }
      if (!names.emplace(name, entry).second) return;
    }
    while (std::ranges::none_of(names, [&](const auto& one) { return fits(one.first); })) {
      const std::string prefix = common_prefix(names);
      if (prefix.empty()) return;
      NamedEntries shorter;
      for (const auto& [name, entry] : names)
        shorter[name.starts_with(prefix) ? name.substr(prefix.size()) : name] = entry;
      if (shorter.size() != names.size()) return;
      names = std::move(shorter);
      dropped.insert(prefix);
    }
    entries_ = std::move(names);
    for (const std::string& prefix : dropped)
      log::info("[checkpoint] '{}': removed '{}' from the names of its tensors",
                file_.path().string(),
                prefix);
  }

  [[nodiscard]] bool fits(const std::string& name) const {
    if (places_.contains(name)) return true;
    const auto weight = stem_of(name, "weight");
    return weight && places_.contains(*weight + std::string(kDirections));
  }

  /// "module." if all names start with it; counters, which are integers, are exempt.
  [[nodiscard]] static std::string common_prefix(const NamedEntries& names) {
    std::string prefix;
    for (const auto& [name, entry] : names) {
      if (!is_floating(entry->dtype)) continue;
      const std::size_t dot = name.find('.');
      if (dot == std::string::npos) return {};
      if (prefix.empty()) prefix = name.substr(0, dot + 1);
      if (!name.starts_with(prefix)) return {};
    }
    return prefix;
  }

  /// Position of a parameter's values in the file, if present.
  [[nodiscard]] Source source_of(const std::string& name, const Tensor& tensor) const {
    Source source{.name = name, .tensor = tensor};
    const auto entry_of = [&](const std::string& other) -> const TensorEntry* {
      const auto found = find(other);
      return found == entries_.end() ? nullptr : found->second;
    };
    if ((source.entry = entry_of(name)) != nullptr) return source;
    if (const auto stem = stem_of(name, kLengths)) {
      source.entry = entry_of(*stem + "weight");
      source.origin = Origin::lengths;
    } else if (const auto of = stem_of(name, kDirections)) {
      source.entry = entry_of(*of + "weight");
    } else if (const auto weight = stem_of(name, "weight")) {
      source.entry = entry_of(*weight + std::string(kDirections));
      source.lengths = entry_of(*weight + std::string(kLengths));
      source.origin = Origin::product;
      if (source.lengths == nullptr) source.entry = nullptr;
    }
    return source;
  }

  /// The shape that the file must have for it.
  [[nodiscard]] Shape wanted(const Source& source) const {
    Shape shape = source.tensor.shape();
    if (source.origin == Origin::lengths)
      shape = places_.at(*stem_of(source.name, kLengths) + std::string(kDirections)).shape();
    if (options_.pytorch) shape = file_shape(shape);
    if (by_rows(source)) shape.set(0, static_cast<std::int64_t>(report_.classes.theirs.size()));
    return shape;
  }

  [[nodiscard]] bool by_rows(const Source& source) const {
    return report_.classes.differs() && options_.class_tensors.contains(source.name);
  }

  /// Compares names and shapes.
  void compare() {
    std::set<const TensorEntry*> used;
    for (const auto& [name, tensor] : in_order_) {
      Source source = source_of(name, tensor);
      if (source.entry == nullptr) {
        report_.missing.push_back(name);
        continue;
      }
      used.insert({source.entry, source.lengths});
      const Shape shape = wanted(source);
      const bool fitting =
          source.entry->shape == shape && is_floating(source.entry->dtype) &&
          (source.lengths == nullptr ||
           (source.lengths->shape.elements() == shape[0] && is_floating(source.lengths->dtype)));
      if (!fitting) {
        report_.mismatched.push_back(fmt::format(
            "{} is {} {}, here {}", name, source.entry->dtype, source.entry->shape, shape));
        continue;
      }
      if (options_.class_tensors.contains(name)) report_.classes.rows_taken = true;
      sources_.push_back(std::move(source));
    }
    for (const auto& [name, entry] : entries_)
      if (!used.contains(entry) && !is_counter(name)) report_.unexpected.push_back(name);
    report_.loaded = static_cast<std::int64_t>(sources_.size());
  }

  void check_strict() const {
    if (!report_.clean())
      fail<CheckpointError>(
          "'{}' does not fit the model:{}", file_.path().string(), report_.describe());
    if (!report_.classes.added.empty() && report_.classes.rows_taken)
      fail<CheckpointError>("'{}' does not have these classes of the model: {}",
                            file_.path().string(),
                            report_.classes.describe());
  }

  /// Before anything is written: what no model can work with.
  void check_values(const Source& source) const {
    const bool variance = source.name.ends_with("running_var");
    for (const TensorEntry* const entry : {source.entry, source.lengths}) {
      if (entry == nullptr) continue;
      NotFinite ignored;
      for (const double value : values_of(*entry, ignored).values) {
        if (variance && value < 0)
          fail<CheckpointError>(
              "'{}': '{}' has a value of {}, but a variance cannot be negative: the file is "
              "damaged",
              file_.path().string(),
              entry->name,
              value);
        if (!std::isfinite(value))
          fail<CheckpointError>("'{}': '{}' has a value that is {}; weights must be finite",
                                file_.path().string(),
                                entry->name,
                                std::isnan(value) ? "NaN" : "infinite");
      }
    }
  }

  [[nodiscard]] FileValues values_of(const TensorEntry& entry, NotFinite& not_finite) const {
    std::vector<std::byte> bytes(entry.end - entry.begin);
    file_.read(entry, bytes);
    not_finite.look_at(entry.name, entry.dtype, bytes);
    FileValues read{entry.shape,
                    std::vector<double>(static_cast<std::size_t>(entry.shape.elements()))};
    visit_floating(entry.dtype, [&]<class T>() {
      const auto* const from = reinterpret_cast<const T*>(bytes.data());
      for (std::size_t i = 0; i < read.values.size(); ++i) read.values[i] = as_double(from[i]);
    });
    return read;
  }

  /// The values for the parameter, by rows of the file, in our layout.
  FileValues values_for(const Source& source) {
    FileValues read = values_of(*source.entry, not_finite_);
    if (options_.adjust) options_.adjust(source.name, read);
    if (source.origin == Origin::product) {
      const std::vector<double> lengths = lengths_of(read);
      const FileValues wanted = values_of(*source.lengths, not_finite_);
      const std::size_t columns = read.values.size() / lengths.size();
      for (std::size_t i = 0; i < read.values.size(); ++i) {
        const std::size_t row = i / columns;
        read.values[i] *= lengths[row] > 0 ? wanted.values[row] / lengths[row] : 0;
      }
    }
    if (source.origin == Origin::lengths) return {{read.shape[0]}, lengths_of(read)};
    if (!options_.pytorch || read.shape.rank() != 4) return read;
    const Shape ours{read.shape[0], read.shape[2], read.shape[3], read.shape[1]};
    FileValues turned{ours, std::vector<double>(read.values.size())};
    for_each_element(ours, [&](std::int64_t to, std::int64_t from) {
      turned.values[static_cast<std::size_t>(to)] = read.values[static_cast<std::size_t>(from)];
    });
    return turned;
  }

  [[nodiscard]] static std::vector<double> lengths_of(const FileValues& weight) {
    std::vector<double> lengths(static_cast<std::size_t>(weight.shape[0]));
    const std::size_t columns = weight.values.size() / std::max<std::size_t>(1, lengths.size());
    for (std::size_t i = 0; i < weight.values.size(); ++i)
      lengths[i / columns] += weight.values[i] * weight.values[i];
    for (double& length : lengths) length = std::sqrt(length);
    return lengths;
  }

  void take(Source& source) {
    Context& ctx = store_.context();
    const FileValues from = values_for(source);
    Tensor host = source.tensor.device().is_cpu() ? source.tensor : to_host(ctx, source.tensor);
    const auto rows = host.shape().rank() > 0 ? static_cast<std::size_t>(host.shape()[0]) : 1;
    const std::size_t columns =
        static_cast<std::size_t>(host.elements()) / std::max<std::size_t>(1, rows);
    const bool by_class = by_rows(source);
    // A direction of length 0 is undefined: the initial one stays, with a length of 0.
    const bool directions =
        source.origin == Origin::as_it_is && source.entry->name != source.name &&
        source.name.ends_with(kDirections) && find(source.name) == entries_.end();
    visit_floating(host.dtype(), [&]<class T>() {
      const std::span<T> to = host.span<T>();
      for (std::size_t row = 0; row < rows; ++row) {
        const std::int64_t theirs = by_class
                                        ? report_.classes.row_for(static_cast<std::int64_t>(row))
                                        : static_cast<std::int64_t>(row);
        if (theirs < 0) continue;
        const auto values =
            std::span(from.values).subspan(static_cast<std::size_t>(theirs) * columns, columns);
        if (directions && std::ranges::all_of(values, [](double v) { return v == 0; })) continue;
        std::ranges::transform(values, to.subspan(row * columns, columns).begin(), [](double v) {
          return from_double<T>(v);
        });
      }
    });
    if (!source.tensor.device().is_cpu())
      copy(ctx, to_device(ctx, ctx.step(), host), source.tensor);
  }

  const SafetensorsFile& file_;
  NamedEntries entries_;
  nn::ParamStore& store_;
  const ReadWeights& options_;
  std::vector<Place> in_order_;
  std::map<std::string, Tensor> places_;  // the same by name
  std::vector<Source> sources_;
  WeightsReport report_;
  NotFinite not_finite_;
};

}  // namespace

std::vector<Place> places_of(nn::ParamStore& store) {
  std::vector<Place> places;
  for (std::int64_t i = 0; i < store.size(); ++i)
    places.push_back({store.info(i).name, store.master(i)});
  for (std::int64_t i = 0; i < store.buffer_count(); ++i)
    places.push_back({store.buffer(i).name, store.buffer(i).value});
  return places;
}

Shape file_shape(const Shape& s) { return s.rank() == 4 ? Shape{s[0], s[3], s[1], s[2]} : s; }

std::vector<std::string> class_names(const SafetensorsFile& file) {
  const auto said = file.metadata().find(std::string(kClassesKey));
  return said == file.metadata().end() ? std::vector<std::string>() : lines_of(said->second);
}

WeightsReport read_weights(const SafetensorsFile& file,
                           NamedEntries entries,
                           nn::ParamStore& store,
                           const ReadWeights& options) {
  return Reader(file, std::move(entries), store, options).read();
}

}  // namespace learn::detail
