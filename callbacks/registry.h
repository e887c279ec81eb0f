#pragma once
#include "framework/core/options/registry.h"
#include "framework/drawing/image_grid.h"
#include "framework/interfaces/batch.h"
#include "framework/interfaces/target_kind.h"
#include "framework/io/safetensors.h"
#include "framework/learner/callback.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::callbacks {

/// Draws samples of a batch with the model's predictions. `outputs` is (N,classes), or (N,labels)
/// or (N,values), f32 on the host.
using DrawSamples = std::function<plot::ImageGrid(
    Context& ctx, const Batch& samples, const Tensor& outputs, const std::string& title)>;

/// Settings of a run for callbacks that are made from text.
struct RunSettings {
  std::filesystem::path folder = ".";  ///< base of relative paths in options
  std::string title;                   ///< title of plots
  std::string monitor = "valid_loss";  ///< default of callbacks that do not name one
  Metadata metadata;                   ///< written to checkpoints
  DrawSamples draw_samples;            ///< null: the samples cannot be drawn
  TargetKind targets = TargetKind::classes;
};

/// The role of a callback in a training.
enum class Role : std::uint8_t {
  trains,   ///< takes part in it
  reports,  ///< shows or writes what happens, without any effect on the training
};

/// A callback and the events it handles, for `Learner::insert`.
struct CallbackWithEvents {
  std::unique_ptr<Callback> callback;
  EventSet events;
  Role role = Role::trains;
};

/// Constructs a callback in place.
template <class C, class... Args>
[[nodiscard]] CallbackWithEvents make_callback(Role role, Args&&... args) {
  return {std::make_unique<C>(std::forward<Args>(args)...), handled_by<C>(), role};
}

using CallbackRegistry = Registry<CallbackWithEvents(const RunSettings&)>;

/// Registry of every callback that can be made from options alone, by name. To add one, put NAME.h
/// and NAME.cpp into this folder, with a function `register_NAME(CallbackRegistry&)` that adds it;
/// the build finds it.
[[nodiscard]] CallbackRegistry callback_registry();

/// Makes a callback from text such as "gradient_clip:limit=1,by=norm" (see Spec). No file is
/// touched before the training starts. Throws UsageError for an unknown name, option or value, and,
/// with an alternative, for a callback that cannot be made from text.
[[nodiscard]] CallbackWithEvents make_from_text(std::string_view spec, const RunSettings& run = {});
/// Adds the callback that `make_from_text` makes. Throws as `make_from_text` and `Learner::insert`
/// do.
Callback& add_from_text(Learner& learn, std::string_view spec, const RunSettings& run = {});
/// Adds the callbacks in `specs` that have this role.
void add_from_texts(Learner& learn,
                    const std::vector<std::string>& specs,
                    Role role,
                    const RunSettings& run);

}  // namespace learn::callbacks
