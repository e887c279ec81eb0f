#pragma once
#include "data/loading/loaders.h"
#include "framework/io/checkpoint.h"
#include "framework/nn/model.h"

#include <filesystem>

namespace learn {

/// Starts the training of a model from the weights of a run or a checkpoint, with the same classes
/// or others: rows of the last layer are matched by the names of `data`'s classes, and tensors that
/// do not match keep their initial values. The log says which classes were found; it warns of
/// tensors that do not match, of a file that does not name its classes, and of one whose images
/// were normalized in another way. Throws CheckpointError as `load_weights`.
///
///   Loaders data(ctx, "photos");
///   Learner learn(ctx, models::make_model("resnet9", data), data);
///   load_pretrained("runs/ten", learn.model_info(), data);
WeightsReport load_pretrained(const std::filesystem::path& path,
                              const nn::Model& model,
                              const data::Loaders& data);

}  // namespace learn
