#pragma once
#include "framework/core/options/registry.h"
#include "framework/drawing/image_grid.h"
#include "framework/interfaces/batch.h"
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

/// Draws samples of a batch with what a model made of them: `outputs` (N,classes), or of labels or
/// values, f32 on the host.
using DrawSamples = std::function<plot::ImageGrid(
    Context& ctx, const Batch& samples, const Tensor& outputs, const std::string& title)>;

/// Settings of a run for callbacks that are made from text.
struct RunSettings {
  std::filesystem::path folder = ".";  ///< base of relative paths in options
  std::string title;                   ///< of plots
  std::string monitor = "valid_loss";  ///< of those that name none
  Metadata metadata;                   ///< goes into checkpoints
  DrawSamples draw_samples;            ///< null: what its batches hold cannot be drawn
};

/// The role of a callback in a training.
enum class Role : std::uint8_t {
  trains,   ///< takes part in it
  reports,  ///< shows or writes what happens; the training is the same without it
};

/// A callback with the events it handles, for `Learner::insert`.
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

/// All callbacks that need only options, by name. To add one, put NAME.h and NAME.cpp into this
/// folder, with a function `register_NAME(CallbackRegistry&)` that adds it: the build finds it.
[[nodiscard]] CallbackRegistry callback_registry();

/// Makes a callback from text such as "gradient_clip:limit=1,by=norm" (see Spec); no file is
/// touched before the training starts. Throws UsageError for an unknown name, option or value, and
/// for a callback that text cannot describe, with what to use instead.
[[nodiscard]] CallbackWithEvents make_from_text(std::string_view spec, const RunSettings& run = {});
/// Adds what `make_from_text` makes. Throws as that and as `Learner::insert`.
Callback& add_from_text(Learner& learn, std::string_view spec, const RunSettings& run = {});
/// Adds those of `specs` that have that role.
void add_from_texts(Learner& learn,
                    const std::vector<std::string>& specs,
                    Role role,
                    const RunSettings& run);

}  // namespace learn::callbacks
