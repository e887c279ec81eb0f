#pragma once

namespace learn::cli {

/// Throws UsageError if a launcher (mpirun, srun, torchrun, ...) has started this process as one of
/// several, by the variables that it sets: each of them would train the same. One process is fine,
/// and so is the script of a Slurm job that has no step.
void refuse_several_processes();

}  // namespace learn::cli
