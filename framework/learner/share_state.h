#pragma once
#include "framework/learner/callback_list.h"

namespace learn {

class Communicator;
class Learner;

/// Gives all ranks the state of rank 0's learner, as a checkpoint holds it
/// (`Learner::visit_state`). All ranks do this together, outside of a run. Other ranks may lack
/// callbacks of rank 0. `of_fit` are callbacks that only the next fit has. Throws RanksError if a
/// rank has state that rank 0 lacks; CheckpointError if it does not fit.
void share_state(Learner& learn, Communicator& communicator, const FitCallbacks& of_fit = {});

}  // namespace learn
