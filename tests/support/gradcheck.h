#pragma once
#include "tests/support/compare.h"
#include "tests/support/op_case.h"

namespace learn::test {

/// The gradients of the reference in double against central differences of its forward pass,
/// for at most 150 elements of each leaf. Runs twice: overwriting gradients that hold NaN, and
/// adding to gradients that do not start at zero. `text` names leaf, element and both values.
[[nodiscard]] Comparison check_gradients(const OpCase& op, std::uint64_t seed = test_seed());

/// Output, states and gradients (overwritten and accumulated) in f32, f16 and bf16, by the fast and
/// by the reference, against the reference in double from the same rounded inputs.
///
/// Allowed per element: `op.units` * (eps + eps_f32 * sqrt(op.reduction)) * max(|expected|, rms of
/// the tensor): the result is rounded once to its dtype (eps), its terms are summed in f32, whose
/// roundings grow like the square root of their number and with the terms rather than with a sum in
/// which they cancel; the rms estimates the terms. Half of f16's smallest number is added.
[[nodiscard]] Comparison check_parity(const OpCase& op, std::uint64_t seed = test_seed());

/// Checks that a second run and 1, 2 and 3 threads give the same bits of output, states and
/// gradients, in f32, f16 and bf16.
[[nodiscard]] Comparison check_determinism(const OpCase& op, std::uint64_t seed = test_seed());

/// The CUDA implementation in f32, f16 and bf16 against the reference in double, as `check_parity`,
/// and against itself: a second run has the same bits.
[[nodiscard]] Comparison check_cuda(const OpCase& op, std::uint64_t seed = test_seed());

/// The first three as doctest checks, with the case's name and the seed; in a program that tests
/// CUDA (LEARN_TEST_DEVICE=cuda in the environment, which its main sets) `check_cuda` instead.
void test_op(const OpCase& op);
/// For cases too large for differences: parity and determinism, or `check_cuda`, which leaves more
/// than 2^16 elements to a real GPU.
void test_large_op(const OpCase& op);
/// Whether this program tests CUDA.
[[nodiscard]] bool testing_cuda();
/// Whether an interpreter of kernels replaces the GPU, so that work must be small.
[[nodiscard]] bool interpreted();

}  // namespace learn::test
