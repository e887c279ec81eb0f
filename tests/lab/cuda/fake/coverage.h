#pragma once

namespace fakecuda {

class PtxModule;

/// With FAKE_CUDA_COVERAGE=FILE in the environment, the process appends to FILE, at its end, for
/// each kernel it launched the source lines it executed and those it did not;
/// tests/lab/cuda/fake/coverage.py joins the files of several runs. With FAKE_CUDA_TRAFFIC=FILE it
/// appends for each of them its name, launches, threads, and bytes of global memory read and
/// written.
void remember_for_coverage(const PtxModule& module);

}  // namespace fakecuda
