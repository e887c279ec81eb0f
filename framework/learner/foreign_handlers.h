#pragma once

/// What events are called elsewhere, X(there, here): in fastai, in its first version and Keras, in
/// Lightning, and with the words of this project the other way round. A handler with such a name
/// and without `override` would never be called; it does not compile.
#define LEARN_FOREIGN_HANDLERS(X)              \
  X(before_fit, train_begin)                   \
  X(before_epoch, epoch_begin)                 \
  X(before_train, epoch_begin)                 \
  X(before_batch, batch_begin)                 \
  X(after_pred, loss_begin)                    \
  X(after_loss, backward_begin)                \
  X(before_backward, backward_begin)           \
  X(after_backward, backward_end)              \
  X(before_step, step_begin)                   \
  X(after_step, step_end)                      \
  X(after_batch, batch_end)                    \
  X(after_train, validate_begin)               \
  X(before_validate, validate_begin)           \
  X(after_validate, validate_end)              \
  X(after_epoch, epoch_end)                    \
  X(after_fit, train_end)                      \
  X(on_train_begin, train_begin)               \
  X(on_epoch_begin, epoch_begin)               \
  X(on_batch_begin, batch_begin)               \
  X(on_loss_begin, loss_begin)                 \
  X(on_backward_begin, backward_begin)         \
  X(on_backward_end, backward_end)             \
  X(on_step_begin, step_begin)                 \
  X(on_step_end, step_end)                     \
  X(on_batch_end, batch_end)                   \
  X(on_epoch_end, epoch_end)                   \
  X(on_train_end, train_end)                   \
  X(on_train_batch_begin, batch_begin)         \
  X(on_test_begin, validate_begin)             \
  X(on_test_end, validate_end)                 \
  X(on_fit_start, train_begin)                 \
  X(on_train_start, train_begin)               \
  X(on_train_epoch_start, epoch_begin)         \
  X(on_train_batch_start, batch_begin)         \
  X(on_before_backward, backward_begin)        \
  X(on_after_backward, backward_end)           \
  X(on_before_optimizer_step, step_begin)      \
  X(on_before_zero_grad, step_end)             \
  X(on_train_batch_end, batch_end)             \
  X(on_validation_start, validate_begin)       \
  X(on_validation_epoch_start, validate_begin) \
  X(on_validation_epoch_end, validate_end)     \
  X(on_validation_end, validate_end)           \
  X(on_train_epoch_end, epoch_end)             \
  X(on_fit_end, train_end)                     \
  X(on_exception, error)                       \
  X(begin_fit, train_begin)                    \
  X(begin_train, train_begin)                  \
  X(begin_epoch, epoch_begin)                  \
  X(begin_batch, batch_begin)                  \
  X(begin_step, step_begin)                    \
  X(begin_validate, validate_begin)            \
  X(end_step, step_end)                        \
  X(end_batch, batch_end)                      \
  X(end_validate, validate_end)                \
  X(end_epoch, epoch_end)                      \
  X(end_train, train_end)
