#include "callbacks/interrupt.h"

#include "callbacks/registry.h"
#include "framework/learner/exchange.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

void Interrupt::batch_begin(Learner& learn) {
  if (Exchange* const ranks = learn.exchange())
    ranks->request_end(requested_.load(std::memory_order_relaxed));
}

void Interrupt::batch_end(Learner& learn) {
  const Exchange* const ranks = learn.exchange();
  if ((ranks != nullptr ? ranks->end_requested() : requested_.load(std::memory_order_relaxed)) == 0)
    return;
  if (learn.progress().gradients_held)
    return;  // a checkpoint cannot hold them: wait for their step
  // A validation outside a fit has no training scope to end.
  learn.cancel(learn.progress().activity == Activity::fit ? Scope::train : Scope::validate);
}

void register_interrupt(CallbackRegistry& registry) {
  registry.refuse("interrupt",
                  "it waits for a flag of the program. 'learn train' always has it; a program adds "
                  "callbacks::Interrupt with its flag");
}

}  // namespace learn::callbacks
