#pragma once

/// Names of events in other frameworks, X(name there, name here): in fastai, in its first version
/// and Keras, in Lightning, in Transformers, and with the words of this project the other way
/// round. A handler with such a name and without `override` would never be called; it does not
/// compile.
#define LEARN_FOREIGN_HANDLERS(X)                         \
  X(before_fit, train_begin(Learner&))                    \
  X(before_epoch, epoch_begin(Learner&))                  \
  X(before_train, epoch_begin(Learner&))                  \
  X(before_batch, batch_begin(Learner&))                  \
  X(after_pred, loss_begin(Learner&))                     \
  X(after_loss, backward_begin(Learner&))                 \
  X(before_backward, backward_begin(Learner&))            \
  X(after_backward, backward_end(Learner&))               \
  X(before_step, step_begin(Learner&))                    \
  X(after_step, step_end(Learner&))                       \
  X(after_batch, batch_end(Learner&))                     \
  X(after_train, validate_begin(Learner&))                \
  X(before_validate, validate_begin(Learner&))            \
  X(after_validate, validate_end(Learner&))               \
  X(after_epoch, epoch_end(Learner&))                     \
  X(after_fit, train_end(Learner&))                       \
  X(after_create, attached(Learner&))                     \
  X(after_cancel_backward, cancelled(Learner&, Scope))    \
  X(after_cancel_step, cancelled(Learner&, Scope))        \
  X(after_cancel_batch, cancelled(Learner&, Scope))       \
  X(after_cancel_train, cancelled(Learner&, Scope))       \
  X(after_cancel_validate, cancelled(Learner&, Scope))    \
  X(after_cancel_epoch, cancelled(Learner&, Scope))       \
  X(after_cancel_fit, cancelled(Learner&, Scope))         \
  X(on_train_begin, train_begin(Learner&))                \
  X(on_epoch_begin, epoch_begin(Learner&))                \
  X(on_batch_begin, batch_begin(Learner&))                \
  X(on_loss_begin, loss_begin(Learner&))                  \
  X(on_backward_begin, backward_begin(Learner&))          \
  X(on_backward_end, backward_end(Learner&))              \
  X(on_step_begin, step_begin(Learner&))                  \
  X(on_step_end, step_end(Learner&))                      \
  X(on_batch_end, batch_end(Learner&))                    \
  X(on_epoch_end, epoch_end(Learner&))                    \
  X(on_train_end, train_end(Learner&))                    \
  X(on_train_batch_begin, batch_begin(Learner&))          \
  X(on_test_begin, validate_begin(Learner&))              \
  X(on_test_end, validate_end(Learner&))                  \
  X(on_test_batch_begin, batch_begin(Learner&))           \
  X(on_test_batch_end, batch_end(Learner&))               \
  X(on_fit_start, train_begin(Learner&))                  \
  X(on_train_start, train_begin(Learner&))                \
  X(on_train_epoch_start, epoch_begin(Learner&))          \
  X(on_train_batch_start, batch_begin(Learner&))          \
  X(on_before_backward, backward_begin(Learner&))         \
  X(on_after_backward, backward_end(Learner&))            \
  X(on_before_optimizer_step, step_begin(Learner&))       \
  X(on_before_zero_grad, step_end(Learner&))              \
  X(on_train_batch_end, batch_end(Learner&))              \
  X(on_validation_start, validate_begin(Learner&))        \
  X(on_validation_epoch_start, validate_begin(Learner&))  \
  X(on_validation_batch_start, batch_begin(Learner&))     \
  X(on_validation_batch_end, batch_end(Learner&))         \
  X(on_validation_epoch_end, validate_end(Learner&))      \
  X(on_validation_end, validate_end(Learner&))            \
  X(on_train_epoch_end, epoch_end(Learner&))              \
  X(on_fit_end, train_end(Learner&))                      \
  X(on_exception, error(Learner&, const std::exception&)) \
  X(on_save_checkpoint, visit_state(StateVisitor&))       \
  X(on_load_checkpoint, visit_state(StateVisitor&))       \
  X(on_init_end, attached(Learner&))                      \
  X(on_evaluate, validate_end(Learner&))                  \
  X(on_pre_optimizer_step, step_begin(Learner&))          \
  X(on_optimizer_step, step_end(Learner&))                \
  X(begin_fit, train_begin(Learner&))                     \
  X(begin_train, train_begin(Learner&))                   \
  X(begin_epoch, epoch_begin(Learner&))                   \
  X(begin_batch, batch_begin(Learner&))                   \
  X(begin_step, step_begin(Learner&))                     \
  X(begin_validate, validate_begin(Learner&))             \
  X(end_step, step_end(Learner&))                         \
  X(end_batch, batch_end(Learner&))                       \
  X(end_validate, validate_end(Learner&))                 \
  X(end_epoch, epoch_end(Learner&))                       \
  X(end_train, train_end(Learner&))                       \
  X(fit_begin, train_begin(Learner&))                     \
  X(fit_start, train_begin(Learner&))                     \
  X(fit_end, train_end(Learner&))                         \
  X(train_start, train_begin(Learner&))                   \
  X(epoch_start, epoch_begin(Learner&))                   \
  X(batch_start, batch_begin(Learner&))                   \
  X(step_start, step_begin(Learner&))                     \
  X(validate_start, validate_begin(Learner&))             \
  X(validation_begin, validate_begin(Learner&))           \
  X(validation_start, validate_begin(Learner&))           \
  X(validation_end, validate_end(Learner&))               \
  X(valid_begin, validate_begin(Learner&))                \
  X(valid_end, validate_end(Learner&))                    \
  X(loss_end, backward_begin(Learner&))                   \
  X(canceled, cancelled(Learner&, Scope))                 \
  X(on_error, error(Learner&, const std::exception&))

/// Typing errors, in the same form. C++20 cannot list the members of a class, so of all misspelt
/// handlers only those of a list can be found.
#define LEARN_MISSPELT_BEGIN(X, scope)       \
  X(scope##_beginn, scope##_begin(Learner&)) \
  X(scope##_begins, scope##_begin(Learner&)) \
  X(scope##_beging, scope##_begin(Learner&)) \
  X(scope##_beign, scope##_begin(Learner&))  \
  X(scope##_being, scope##_begin(Learner&))  \
  X(scope##_begn, scope##_begin(Learner&))   \
  X(scope##s_begin, scope##_begin(Learner&)) \
  X(scope##begin, scope##_begin(Learner&))   \
  X(begin_##scope##s, scope##_begin(Learner&))
#define LEARN_MISSPELT_END(X, scope)      \
  X(scope##_ends, scope##_end(Learner&))  \
  X(scope##_ended, scope##_end(Learner&)) \
  X(scope##_edn, scope##_end(Learner&))   \
  X(scope##_ned, scope##_end(Learner&))   \
  X(scope##_en, scope##_end(Learner&))    \
  X(scope##s_end, scope##_end(Learner&))  \
  X(scope##end, scope##_end(Learner&))
#define LEARN_MISSPELT_HANDLERS(X)  \
  LEARN_MISSPELT_BEGIN(X, train)    \
  LEARN_MISSPELT_BEGIN(X, epoch)    \
  LEARN_MISSPELT_BEGIN(X, batch)    \
  LEARN_MISSPELT_BEGIN(X, loss)     \
  LEARN_MISSPELT_BEGIN(X, backward) \
  LEARN_MISSPELT_BEGIN(X, step)     \
  LEARN_MISSPELT_BEGIN(X, validate) \
  LEARN_MISSPELT_END(X, backward)   \
  LEARN_MISSPELT_END(X, step)       \
  LEARN_MISSPELT_END(X, batch)      \
  LEARN_MISSPELT_END(X, validate)   \
  LEARN_MISSPELT_END(X, epoch)      \
  LEARN_MISSPELT_END(X, train)
