// Cases that cannot be shown on a real device: a wrong result is detected completely, and the
// runtime or a library refuses a call that nearly always succeeds. Only the fake runtime does that
// on demand (fake/refusal.h); the program runs nowhere else.
#include "callbacks/cuda_graph.h"
#include "framework/autograd/ops.h"
#include "framework/kernels/conv/conv.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/product/linear.h"
#include "framework/runtime/device_choice.h"
#include "framework/runtime/uploads.h"
#include "tests/lab/cuda/oracle.h"
#include "tests/lab/cuda/short_training.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"
#include "tests/support/log_file.h"
#include "tests/support/op_case.h"
#include "tests/support/temporary_folder.h"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace learn;
using test::drawn;
using test::oracle;

namespace {

/// The named calls are refused during its lifetime. Afterwards no error may remain that would be
/// attributed to another call.
class Refusal {
 public:
  explicit Refusal(const std::string& calls) {
    // A unique value, because the fake counts calls from the time the variable got its value.
    static int number = 0;
    const std::string value = calls + ",refusal" + std::to_string(++number);
    (void)setenv("FAKE_CUDA_REFUSE", value.c_str(), 1);
  }
  ~Refusal() {
    (void)unsetenv("FAKE_CUDA_REFUSE");
    CHECK(cudaGetLastError() == cudaSuccess);
  }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
};

Tensor on_device(Context& ctx, const Tensor& host) { return to_device(ctx, ctx.step(), host); }

void check_close(Context& ctx, const Tensor& device, const Tensor& expected) {
  // Two roundings to the type where a bias is added apart.
  const double allowed = expected.dtype() == DType::f32 ? 1e-5 : 4e-3;
  const Comparison result = all_close(to_host(ctx, device), expected, allowed, 4 * allowed);
  CHECK_MESSAGE(result, result.text);
}

}  // namespace

TEST_CASE("a step whose graph is refused runs eagerly, with the same bits and one warning") {
  const test::ShortTraining training = test::sized({.model = "small"});
  const ContextOptions cuda{.device = Device::cuda()};
  test::ShortRun eager(cuda, training);
  eager.fit(2);
  for (const char* call : {"cudaStreamEndCapture", "cudaGraphInstantiate", "cudaGraphLaunch"}) {
    CAPTURE(std::string(call));
    const test::LogFile log;
    test::ShortRun refused(
        cuda, training, [](Learner& learn) { learn.add<callbacks::CudaGraph>(); });
    {
      const Refusal refusal(call);
      refused.fit(2);
    }
    CHECK(refused.losses() == eager.losses());
    for (std::size_t i = 0; i < 2; ++i) {
      const Comparison same = same_bits(refused.values()[i], eager.values()[i]);
      CHECK_MESSAGE(same, same.text);
    }
    const GraphStepCounts& counts = refused.learn.find<callbacks::CudaGraph>()->counts();
    CHECK(counts.captured == 0);
    CHECK(counts.replayed == 0);
    CHECK(counts.eager == 2 * training.steps);
    CHECK(log.count("the training step is not captured: ") == 1);
  }
}

TEST_CASE(
    "contexts of two devices work at the same time, also in a thread that has chosen neither") {
  (void)setenv("FAKE_CUDA_DEVICES", "2", 1);
  {
    const Tensor x = drawn({6, 24}, DType::f32, 1);
    Tensor expected(oracle().persistent(), x.shape(), DType::f32);
    kernels::multiply(oracle(), x, x, expected, GradMode::overwrite);
    Context first({.device = Device::cuda(0)});
    Context second({.device = Device::cuda(1)});
    const auto run = [&] {
      for (Context* ctx : {&first, &second, &first}) {
        const Tensor in = on_device(*ctx, x);
        Tensor out = ctx->empty(x.shape(), DType::f32);
        kernels::multiply(*ctx, in, in, out, GradMode::overwrite);
        CHECK(same_bits(to_host(*ctx, out), expected).equal);
      }
    };
    run();
    std::thread(run).join();
    CHECK_THROWS_WITH_AS((void)choose_device("cuda:2"),
                         "device 'cuda:2' is not available: there are 2 CUDA devices, numbered "
                         "from 0",
                         DeviceError);
  }
  (void)unsetenv("FAKE_CUDA_DEVICES");
}

TEST_CASE("a GPU that is too old is refused by name, and auto does not select it") {
  (void)setenv("FAKE_CUDA_CAPABILITY", "7.5", 1);
  const std::string reason = "cuda:0, FAKE (no GPU), has compute capability 7.5; 8.0 is needed";
  for (const char* name : {"cuda", "cuda:0"})
    CHECK_THROWS_WITH_AS((void)choose_device(name),
                         ("device '" + std::string(name) + "' cannot be used: " + reason).c_str(),
                         DeviceError);
  CHECK_THROWS_WITH_AS(Context({.device = Device::cuda()}),
                       ("device 'cuda:0' cannot be used: " + reason).c_str(),
                       DeviceError);
  CHECK(auto_device().device == Device::cpu());
  CHECK(auto_device().reason == reason);
  for (const char* capability : {"8.0", "12.0"}) {
    (void)setenv("FAKE_CUDA_CAPABILITY", capability, 1);
    CHECK(choose_device("cuda") == Device::cuda());
  }
  (void)unsetenv("FAKE_CUDA_CAPABILITY");
}

TEST_CASE("a linear layer whose epilogues are refused does their work apart") {
  for (const DType dtype : {DType::f32, DType::f16})
    for (const char* refused :
         {"cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulHeuristicResult_t", "cublasLtMatmul"}) {
      CAPTURE(std::string(name_of(dtype)));
      CAPTURE(std::string(refused));
      Context cuda(test::on_cuda());
      const Refusal refusal(refused);
      const Tensor x = drawn({6, 24}, dtype, 1);
      const Tensor w = drawn({10, 24}, dtype, 2);
      const Tensor bias = drawn({10}, dtype, 3);
      const Tensor dy = drawn({6, 10}, dtype, 4);
      Tensor y(oracle().persistent(), {6, 10}, dtype);
      Tensor dw(oracle().persistent(), w.shape(), dtype);
      Tensor db(oracle().persistent(), bias.shape(), dtype);
      kernels::linear_forward(oracle(), x, w, bias, y);
      kernels::linear_backward_parameters(
          oracle(), x, dy, dw, GradMode::overwrite, db, GradMode::overwrite);
      for (int run = 0; run < 2; ++run) {  // the second time it is known
        Tensor got_y = on_device(cuda, full(oracle().step(), y.shape(), dtype, NAN));
        Tensor got_dw = on_device(cuda, full(oracle().step(), dw.shape(), dtype, NAN));
        Tensor got_db = on_device(cuda, full(oracle().step(), db.shape(), dtype, NAN));
        kernels::linear_forward(
            cuda, on_device(cuda, x), on_device(cuda, w), on_device(cuda, bias), got_y);
        kernels::linear_backward_parameters(cuda,
                                            on_device(cuda, x),
                                            on_device(cuda, dy),
                                            got_dw,
                                            GradMode::overwrite,
                                            got_db,
                                            GradMode::overwrite);
        check_close(cuda, got_y, y);
        check_close(cuda, got_dw, dw);
        check_close(cuda, got_db, db);
      }
    }
}

TEST_CASE("the checker of a device's operations names every type, tensor and mode that is off") {
  const test::OpCase op{.name = "planted 3x5",
                        .inputs = {{.name = "x", .shape = {3, 5}, .low = 1}},
                        .call = [](Tape&, std::span<const Var> in) {
                          return ops::scale(in[0], is_half(in[0].dtype()) ? 2.25F : 2.0F);
                        }};
  const Comparison result = test::check_cuda(op);
  CHECK_FALSE(result);
  std::size_t lines = 1;
  for (const char c : result.text) lines += c == '\n' ? 1 : 0;
  CHECK(lines == 2 * 2 * 2);  // f16 and bf16, output and gradient, overwritten and added to
  for (const char* part :
       {"output at", "gradient of x at", "[f16, cuda, overwrite", "[bf16, cuda, accumulate"})
    CHECK(result.text.find(part) != std::string::npos);
  CHECK(result.text.find("[f32") == std::string::npos);
}

TEST_CASE("memory that the device or the host does not have is an error with its size") {
  Context cuda(test::on_cuda());
  constexpr std::size_t kHuge = std::size_t{1} << 50U;
  CHECK_THROWS_WITH_AS((void)cuda.persistent().allocate(kHuge),
                       doctest::Contains("cannot reserve 1073741824 MiB on cuda:0: "),
                       OutOfMemoryError);
  CHECK_THROWS_WITH_AS((void)make_upload_arena(cuda, "test")->allocate(kHuge),
                       "cannot reserve 1073741824 MiB of pinned host memory for cuda:0",
                       OutOfMemoryError);
}

TEST_CASE("a kernel that cannot be launched is an error with its name") {
  Context cuda(test::on_cuda());
  const Tensor x = on_device(cuda, drawn({6}, DType::f32, 1));
  Tensor y = cuda.empty(x.shape(), DType::f32);
  const Refusal refusal("cudaLaunchKernel");
  CHECK_THROWS_WITH_AS(kernels::scale(cuda, x, 2, y),
                       doctest::Contains("scale: cudaErrorLaunchOutOfResources: "),
                       DeviceError);
}

TEST_CASE("tuning drops a plan that cannot be run, and says so if none can") {
  constexpr Conv2dOptions kSame = Conv2dOptions::symmetric(1, 1);
  const Tensor x = drawn({2, 5, 4, 8}, DType::f16, 1);
  const Tensor w = drawn({16, 3, 3, 8}, DType::f16, 2);
  Tensor y(oracle().persistent(), {2, 5, 4, 16}, DType::f16);
  kernels::conv2d_forward(oracle(), x, w, {}, y, kSame);
  ContextOptions options = test::on_cuda();
  options.cuda.tune = true;
  for (const char* plans : {":1", ":2", ":1,cudnnBackendExecute:2,cudnnBackendExecute:3"}) {
    CAPTURE(std::string(plans));
    Context cuda(options);
    const Refusal refusal(std::string("cudnnBackendExecute") + plans);
    Tensor got = on_device(cuda, full(oracle().step(), y.shape(), DType::f16, NAN));
    kernels::conv2d_forward(cuda, on_device(cuda, x), on_device(cuda, w), {}, got, kSame);
    check_close(cuda, got, y);
  }
  Context cuda(options);
  const Refusal refusal("cudnnBackendExecute");
  Tensor got = on_device(cuda, y);
  CHECK_THROWS_WITH_AS(
      kernels::conv2d_forward(cuda, on_device(cuda, x), on_device(cuda, w), {}, got, kSame),
      doctest::Contains("candidate algorithms could run"),
      DeviceError);
}

TEST_CASE("a plan that cannot be run is replaced by the next one, once and with a warning") {
  constexpr Conv2dOptions kSame = Conv2dOptions::symmetric(1, 1);
  for (const DType dtype : {DType::f32, DType::f16}) {
    CAPTURE(std::string(name_of(dtype)));
    const Tensor x = drawn({2, 5, 4, 8}, dtype, 1);
    const Tensor w = drawn({16, 3, 3, 8}, dtype, 2);
    const Tensor dy = drawn({2, 5, 4, 16}, dtype, 3);
    Tensor y(oracle().persistent(), dy.shape(), dtype);
    Tensor dx = full(oracle().persistent(), x.shape(), dtype, 1);
    Tensor dw = full(oracle().persistent(), w.shape(), dtype, 1);
    kernels::conv2d_forward(oracle(), x, w, {}, y, kSame);
    kernels::conv2d_backward_data(oracle(), dy, w, dx, kSame, GradMode::accumulate);
    kernels::conv2d_backward_weight(oracle(), x, dy, dw, kSame, GradMode::accumulate);
    const test::LogFile log;
    Context cuda(test::on_cuda());
    // The first plan of each pass: a plan has the same number each time.
    const Refusal refusal("cudnnBackendExecute:1,cudnnBackendExecute:3,cudnnBackendExecute:5");
    for (int run = 0; run < 2; ++run) {  // the second time it is known
      Tensor got_y = on_device(cuda, full(oracle().step(), y.shape(), dtype, NAN));
      Tensor got_dx = on_device(cuda, full(oracle().step(), x.shape(), dtype, 1));
      Tensor got_dw = on_device(cuda, full(oracle().step(), w.shape(), dtype, 1));
      kernels::conv2d_forward(cuda, on_device(cuda, x), on_device(cuda, w), {}, got_y, kSame);
      kernels::conv2d_backward_data(
          cuda, on_device(cuda, dy), on_device(cuda, w), got_dx, kSame, GradMode::accumulate);
      kernels::conv2d_backward_weight(
          cuda, on_device(cuda, x), on_device(cuda, dy), got_dw, kSame, GradMode::accumulate);
      check_close(cuda, got_y, y);
      check_close(cuda, got_dx, dx);
      check_close(cuda, got_dw, dw);
    }
    CHECK(log.count("a plan cannot be run, using the next one: ") == 3);
  }
}

TEST_CASE("the replacement of a plan is what is kept on disk, and no plan at all is an error") {
  constexpr Conv2dOptions kSame = Conv2dOptions::symmetric(1, 1);
  const TemporaryFolder folder;
  ContextOptions options = test::on_cuda();
  options.cuda.plan_cache = (folder.path() / "plans").string();
  const Tensor x = drawn({2, 5, 4, 8}, DType::f16, 1);
  const Tensor w = drawn({16, 3, 3, 8}, DType::f16, 2);
  Tensor y(oracle().persistent(), {2, 5, 4, 16}, DType::f16);
  kernels::conv2d_forward(oracle(), x, w, {}, y, kSame);
  const auto run = [&] {
    Context cuda(options);
    Tensor got = on_device(cuda, full(oracle().step(), y.shape(), DType::f16, NAN));
    kernels::conv2d_forward(cuda, on_device(cuda, x), on_device(cuda, w), {}, got, kSame);
    check_close(cuda, got, y);
  };
  const test::LogFile log;
  {
    const Refusal refusal("cudnnBackendExecute:1");
    run();
  }
  run();
  CHECK(log.count("a plan cannot be run") == 1);
  {
    const Refusal refusal("cudnnBackendExecute:1");  // the stored one
    run();
  }
  CHECK(log.count("a plan cannot be run") == 2);
  {
    const Refusal refusal("cudnnBackendExecute");
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("cannot run a convolution"), DeviceError);
  }
  const std::size_t before = log.count("a plan cannot be run");
  const Refusal others("cudnnBackendExecute:2");
  run();  // what is on disk has not changed
  CHECK(log.count("a plan cannot be run") == before);
}

TEST_CASE("an algorithm for a product that cannot be run is replaced by the next one") {
  const Tensor x = drawn({6, 24}, DType::f16, 1);
  const Tensor w = drawn({16, 24}, DType::f16, 2);
  Tensor y(oracle().persistent(), {6, 16}, DType::f16);
  kernels::linear_forward(oracle(), x, w, {}, y);
  const test::LogFile log;
  Context cuda(test::on_cuda());
  const auto run = [&] {
    Tensor got = on_device(cuda, full(oracle().step(), y.shape(), DType::f16, NAN));
    kernels::linear_forward(cuda, on_device(cuda, x), on_device(cuda, w), {}, got);
    check_close(cuda, got, y);
  };
  {
    const Refusal refusal("cublasLtMatmulAlgo_t:1,cublasLtMatmulAlgo_t:2");
    run();
    run();
  }
  CHECK(log.count("an algorithm cannot be run, using the next one: ") == 2);
  Context fresh(test::on_cuda());
  const Refusal refusal("cublasLtMatmulAlgo_t");
  Tensor got = on_device(fresh, y);
  CHECK_THROWS_WITH_AS(
      kernels::linear_forward(fresh, on_device(fresh, x), on_device(fresh, w), {}, got),
      doctest::Contains("cannot multiply"),
      DeviceError);
}
