#pragma once
#include "framework/core/registry.h"
#include "framework/nn/model.h"
#include "framework/tensor/batch.h"
#include "models/options.h"

#include <functional>
#include <string_view>

namespace learn::models {

using ModelFactory = std::function<nn::Model(const ModelOptions&)>;

/// Every model by name, with a line of help. To add one, add a line to registry.cpp.
[[nodiscard]] Registry<ModelFactory> model_registry();

/// The model `name`; its parameters have no memory yet. Throws UsageError for an unknown name
/// (listing the known ones), for an option the model has no use for, and for pictures it cannot
/// take.
[[nodiscard]] nn::Model make_model(std::string_view name, const ModelOptions& options = {});

/// The same for the samples and classes of a data source, whatever `options` say of those. Throws
/// UsageError for one that does not know them.
[[nodiscard]] nn::Model make_model(std::string_view name,
                                   const BatchSources& data,
                                   ModelOptions options = {});

}  // namespace learn::models
