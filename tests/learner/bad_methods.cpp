// Methods of other frameworks' learners, called: CMakeLists.txt says with which words each is
// refused.
#include "framework/learner/learner.h"

void train(learn::Learner& learn) {
#if LEARN_BAD_METHOD == 0
  learn.fit(1);
  learn.fit(3, 0.1F);
  learn.fit(3, 0.1);
  learn.fit_one_cycle(3, {0.01F, 0.1F});
#elif LEARN_BAD_METHOD == 1
  learn.fine_tune(3, 0.1);
  learn.to_fp16();
#endif
}
