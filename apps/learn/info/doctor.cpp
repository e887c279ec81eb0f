#include "apps/experiment/data_section.h"
#include "apps/experiment/device_section.h"
#include "apps/learn/cli/command.h"
#include "apps/learn/common/host.h"
#include "apps/learn/info/gpu_ranks.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/core/environment.h"
#include "framework/core/options/option_table.h"
#include "framework/core/seconds_since.h"
#include "framework/core/version.h"
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/device_communicator.h"
#include "framework/kernels/product/linear.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_choice.h"
#include "framework/tensor/factory.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace learn::cli {
namespace {

struct DoctorOptions {
  std::string data_dir;      ///< where to look for data sets; empty: as `learn train` does
  std::int64_t threads = 0;  ///< for the measurement; 0: one per physical core
  double seconds = 2;        ///< how long to measure; 0: not at all

  [[nodiscard]] OptionTable table();
};

namespace fs = std::filesystem;

std::string memory_text() {
  const HostMemory memory = host_memory();
  return fmt::format(
      "{} of {} available", gib_text(double(memory.available)), gib_text(double(memory.total)));
}

std::string disk_text() {
  std::error_code error;
  const fs::space_info space = fs::space(".", error);
  if (error) return error.message();
  return gib_text(double(space.available)) + " free in the current folder";
}

std::string cuda_text(const CudaStatus& status, const CudaReport& report) {
  if (status.devices > 0) return fmt::format("{} device(s)", status.devices);
  const char* advice =
      !status.built
          ? "; to enable it, install the CUDA toolkit (nvcc 12.0 or newer) and build again"
      : report.runtime.empty() ? "; install the missing library, or build again"
                               : "; install NVIDIA's driver, or see 'nvidia-smi', to use a GPU";
  return "none: " + status.reason + advice;
}

std::string driver_text(const CudaReport& report) {
  return fmt::format("{}; built with CUDA {}",
                     report.driver.empty() ? "none" : "up to CUDA " + report.driver,
                     report.runtime);
}

/// The device of "auto"; the error, if the environment names a device that does not exist.
std::string auto_text(const CudaStatus& status, const CudaReport& report) {
  try {
    if (const char* const wanted = environment("LEARN_DEVICE"); wanted != nullptr)
      return fmt::format("{}: LEARN_DEVICE is '{}'", choose_device("auto"), wanted);
  } catch (const Error& error) {
    return fmt::format("LEARN_DEVICE: {}", error.what());
  }
  const AutoDevice chosen = auto_device(status, report);
  if (status.devices == 0) return to_string(chosen.device);  // the reason is the first row's
  return fmt::format("{}: {}", chosen.device, chosen.reason);
}

/// Devices, driver and libraries, and the choice of "auto".
void add_cuda_rows(TextTable& table, const CudaStatus& status, const CudaReport& report) {
  table.row({"cuda", cuda_text(status, report)});
  if (!report.runtime.empty()) table.row({"cuda driver", driver_text(report)});
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const CudaDeviceInfo& gpu = report.devices[i];
    table.row({fmt::format("cuda:{}", i),
               fmt::format("{}, {}, compute capability {}.{}",
                           gpu.name,
                           gib_text(static_cast<double>(gpu.memory)),
                           gpu.major,
                           gpu.minor)});
  }
  for (const CudaLibrary& library : report.libraries)
    table.row({library.name,
               library.version.empty() ? "none: " + library.reason
                                       : fmt::format("{}, {}", library.version, library.file)});
  table.row({"--device auto", auto_text(status, report)});
}

std::string mpi_text(const MpiReport& report) {
  if (report.library.empty()) return "none: " + report.reason;
  return fmt::format("{}, {}", report.library, report.file);
}

std::string nccl_text(const NcclReport& report) {
  if (report.version.empty()) return "none: " + report.reason;
  return fmt::format("{}, {}", report.version, report.file);
}

std::string launcher_text(const std::optional<Launcher>& launcher) {
  if (!launcher) return "none";
  if (!launcher->meeting) return "started by " + launcher->text();
  return fmt::format("started by {}; rank 0 listens at {}:{}",
                     launcher->text(),
                     launcher->meeting->host,
                     launcher->meeting->port);
}

/// The libraries of several ranks, the launcher that started this process (the error, if the
/// environment contradicts itself), and the GPUs of ranks with the links between them.
void add_rank_rows(TextTable& table, const CudaReport& report) {
  table.row({"mpi", mpi_text(mpi_report())});
  table.row({"nccl", nccl_text(nccl_report())});
  std::optional<Launcher> launcher;
  try {
    launcher = find_launcher();
    table.row({"launcher", launcher_text(launcher)});
  } catch (const Error& error) {
    table.row({"launcher", error.what()});
  }
  if (report.devices.empty()) return;
  table.row({"gpu ranks", gpu_ranks_text(report.devices.size(), launcher)});
  if (!report.links.empty()) table.row({"gpu links", gpu_links_text(report.links)});
}

std::string place_text(const fs::path& found) {
  return found.empty() ? "not found" : found.string();
}

/// f32 matrix products of 1024 x 1024 x 1024, in 10^9 operations (multiplications and additions)
/// per second; the best of them, as others may use the machine.
double matrix_gflops(Context& ctx, double seconds) {
  constexpr std::int64_t n = 1024;
  using Clock = std::chrono::steady_clock;
  Tensor x = uniform(ctx.persistent(), {n, n}, DType::f32, -1, 1, 1);
  Tensor w = uniform(ctx.persistent(), {n, n}, DType::f32, -1, 1, 2);
  Tensor y(ctx.persistent(), {n, n}, DType::f32);
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto begin = Clock::now();
    kernels::linear_forward(ctx, x, w, {}, y);
    best = std::max(best, 2e-9 * n * n * n / seconds_since(begin));
  } while (Clock::now() < end);
  return best;
}

/// `learn doctor`: reports the program, the machine's capabilities, the available data sets, the
/// speed of a matrix product, CUDA's devices, driver and libraries, the choice of --device auto
/// with its reason, MPI, NCCL, the launcher of the process, and the GPUs of ranks and their links.
/// For bug reports, and for "why is my GPU not used?". Reports missing parts, but fails only for
/// bad options.
int doctor(const DoctorOptions& options) {
  TextTable table({{"what"}, {"on this machine"}});
  const data::DataOptions data_options{.directory = options.data_dir};
  table.row(
      {"learn",
       fmt::format("{}, {} build, compiler {}", LEARN_VERSION, LEARN_BUILD_TYPE, __VERSION__)});
  table.row({"system", system_text()});
  table.row({"cpu", processor_text()});
  table.row({"memory", memory_text()});
  table.row({"disk", disk_text()});
  const CudaReport report = cuda_report();
  add_cuda_rows(table, cuda_status(), report);
  add_rank_rows(table, report);
  table.row({"cifar10", place_text(data::find_cifar10(data_options))});
  table.row({"cifar100", place_text(data::find_cifar100(data_options))});
  Context ctx({.device = Device::cpu(), .threads = static_cast<int>(options.threads)});
  if (options.seconds > 0)
    table.row({"matrix product",
               fmt::format("{:.0f} GFLOP/s in f32 with {} threads",
                           matrix_gflops(ctx, options.seconds),
                           ctx.threads().threads())});
  console::print(table.to_string());
  return 0;
}

OptionTable DoctorOptions::table() {
  OptionTable t;
  t.group("Options");
  declare_data_dir(t, data_dir);
  declare_threads(t, threads);
  t.number("seconds",
           seconds,
           {.low = 0, .high = 60},
           "S",
           "seconds for timing a matrix product; 0: skip it");
  return t;
}

}  // namespace

void register_doctor(Commands& commands) {
  commands.add<DoctorOptions>(
      {.name = "doctor",
       .place = 3,
       .help = "show this machine's processor, memory, CUDA, MPI, NCCL, data sets and speed",
       .examples = {{"Show the machine without timing it", "learn doctor --seconds 0"}},
       .in_ranks = true},
      [](DoctorOptions& o, const Parsed&) { return doctor(o); });
}

}  // namespace learn::cli
