#include "apps/experiment/ranks_section.h"

namespace learn {

void RanksSection::declare(OptionTable& t) {
  t.group("Several processes (mpirun, srun)");
  t.flag("sync-bn",
         sync_bn,
         "BatchNorm normalizes the images of all processes as one batch, as one process does, with "
         "two small exchanges for each layer and step; otherwise each process normalizes its own");
  t.number("bucket", bucket, {.low = 0.001, .high = 1024}, "MB", "gradients summed at a time")
      .may_change = true;
  t.choice("wire",
           wire,
           {{"f32", Wire::f32}, {"half", Wire::half}},
           "type in which gradients are summed; half: as bf16, or in the model's halves, which is "
           "half the traffic and rounds the sums")
      .may_change = true;
  t.number("rank-timeout",
           rank_timeout,
           {.low = 0, .high = 86400},
           "SECONDS",
           "end all processes if one does not answer for so long; 0: never")
      .may_change = true;
  t.flag("rank-logs", rank_logs, "write the log of each other process to run.rank-NNN.log")
      .may_change = true;
}

}  // namespace learn
