#pragma once
#include "framework/core/options/option_table.h"
#include "framework/core/options/spec.h"
#include "framework/core/options/suggest.h"

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn {

template <class Signature>
class Registry;

/// Objects of one kind that are made by name, each with a line of help and with options, which are
/// declared only where it is registered. It is not a global: one function fills it, so nothing
/// depends on static initialization.
template <class Product, class... Args>
class Registry<Product(Args...)> {
 public:
  using Make = std::function<Product(Args...)>;

  /// One of the things, to be set and made.
  struct Configured {
    OptionTable options;  ///< not to be used longer than `make`
    Make make;            ///< creates it with the current values of the options
  };

  /// `kind` names what is registered, for error texts: "model".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// One that has no options. Throws std::logic_error if the name is taken, as all of them.
  void add(std::string name, std::string help, Make make) {
    insert(std::move(name), std::move(help), [make = std::move(make)] {
      return Configured{{}, make};
    });
  }
  /// `declare(OptionTable&, Options&)` binds its options to the fields of `defaults`' type;
  /// `make(const Options&, Args...)` makes the product.
  template <class Options, class Declare, class MakeFrom>
  void add(
      std::string name, std::string help, Options defaults, Declare declare, MakeFrom make_from) {
    insert(std::move(name), std::move(help), [=] {
      const auto options = std::make_shared<Options>(defaults);
      Configured out;
      declare(out.options, *options);
      out.make = [options, make_from](Args... args) -> Product {
        return make_from(*options, std::forward<Args>(args)...);
      };
      return out;
    });
  }
  /// A name that users may try but that cannot be created from text: `reason` gives the reason and
  /// advice.
  void refuse(std::string name, std::string reason) {
    refused_.emplace(std::move(name), std::move(reason));
  }

  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
  [[nodiscard]] bool contains(std::string_view name) const { return entries_.contains(name); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }
  /// Throw UsageError for an unknown name, with a suggestion and the known ones.
  [[nodiscard]] const std::string& help(std::string_view name) const { return at(name).help; }
  [[nodiscard]] Configured configure(std::string_view name) const { return at(name).configure(); }

  /// The factory of the object that a spec describes. Throws UsageError also for its options, see
  /// Spec.
  [[nodiscard]] Make make(const Spec& spec) const {
    Configured configured = configure(spec.name);
    spec.set(configured.options);
    return std::move(configured.make);
  }
  [[nodiscard]] Make make(std::string_view spec) const { return make(Spec::parse(spec)); }

 private:
  struct Entry {
    std::string help;
    std::function<Configured()> configure;
  };

  void insert(std::string name, std::string help, std::function<Configured()> configure) {
    const auto [at, fresh] =
        entries_.try_emplace(std::move(name), Entry{std::move(help), std::move(configure)});
    if (!fresh) fail<std::logic_error>("{} '{}' is registered twice", kind_, at->first);
  }
  [[nodiscard]] const Entry& at(std::string_view name) const {
    if (const auto found = refused_.find(name); found != refused_.end())
      fail<UsageError>("{} '{}' cannot be created from text: {}", kind_, name, found->second);
    require_known(kind_, name, names());
    return entries_.find(name)->second;
  }

  std::string kind_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> refused_;
};

/// An option whose text is a spec of a registry; setting it checks the spec. If its field is
/// initially empty (decided later), it may be set to the empty text again.
template <class Signature>
Option& declare_spec(OptionTable& t,
                     const std::string& name,
                     std::string& field,
                     Registry<Signature> registry,
                     std::string value,
                     std::string help) {
  Option& option = t.text(name, field, std::move(value), std::move(help));
  option.set =
      [&field, registry = std::move(registry), optional = field.empty()](const std::string& text) {
        if (!(optional && text.empty())) (void)registry.make(text);
        field = text;
      };
  return option;
}

}  // namespace learn
