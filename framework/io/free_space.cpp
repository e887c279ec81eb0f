#include "framework/io/free_space.h"

#include "framework/core/log.h"

namespace learn {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
/// Two states and the weights of the best epoch, which are a third of a state at most.
constexpr double kCheckpoints = 2.2;

class SizeVisitor final : public StateVisitor {
 public:
  [[nodiscard]] bool loading() const override { return false; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 protected:
  void on_tensor(const std::string& /*name*/, Tensor& tensor) override { bytes_ += tensor.bytes(); }
  void on_integer(const std::string& /*name*/, std::int64_t& /*value*/) override {}
  void on_real(const std::string& /*name*/, double& /*value*/) override {}
  void on_text(const std::string& /*name*/, std::string& /*value*/) override {}

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / kMebibyte;
  return mebibytes < 0.1 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} MiB", mebibytes);
}

std::uint64_t state_size(FunctionRef<void(StateVisitor&)> visit) {
  SizeVisitor visitor;
  visit(visitor);
  return visitor.bytes();
}

void warn_if_space_is_short(const std::filesystem::path& folder,
                            std::uint64_t checkpoint,
                            FileSystem& files) {
  const std::optional<std::uint64_t> free = files.free_space(folder);
  const auto wanted = static_cast<std::uint64_t>(kCheckpoints * static_cast<double>(checkpoint));
  if (!free || *free >= wanted) return;
  log::warn(
      "[io] '{}' has {} free; checkpoints of {} need {}: free some space, or choose another folder "
      "with --out",
      folder.string(),
      bytes_text(*free),
      bytes_text(checkpoint),
      bytes_text(wanted));
}

}  // namespace learn
