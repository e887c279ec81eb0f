#include "framework/core/error.h"
#include "framework/core/format.h"
#include "framework/io/checkpoint.h"
#include "framework/io/not_finite.h"

#include <charconv>
#include <set>

namespace learn {
namespace {

constexpr std::string_view kPrefix = "state.";
constexpr std::string_view kModel = "model.";  // parameters, buffers and their averages

class Saver final : public StateVisitor {
 public:
  explicit Saver(Metadata metadata) : metadata_(std::move(metadata)) {}
  [[nodiscard]] bool loading() const override { return false; }
  [[nodiscard]] const std::vector<NamedTensor>& tensors() const { return tensors_; }
  [[nodiscard]] Metadata take_metadata() { return std::move(metadata_); }

 protected:
  void on_tensor(const std::string& name, Tensor& tensor) override {
    tensors_.push_back({name, tensor});
  }
  void on_integer(const std::string& name, std::int64_t& value) override {
    metadata_[std::string(kPrefix) + name] = std::to_string(value);
  }
  // {fmt} writes the shortest text that reads back as the same double, whatever the locale.
  void on_real(const std::string& name, double& value) override {
    metadata_[std::string(kPrefix) + name] = fmt::format("{}", value);
  }
  void on_text(const std::string& name, std::string& value) override {
    metadata_[std::string(kPrefix) + name] = value;
  }

 private:
  std::vector<NamedTensor> tensors_;
  Metadata metadata_;
};

class Loader final : public StateVisitor {
 public:
  explicit Loader(const SafetensorsFile& file) : file_(file) {}
  [[nodiscard]] bool loading() const override { return true; }

  /// Throws if anything was missing, or is left over where all of it was to be read.
  void finish(bool all = true) {
    if (all) find_left_over();
    if (problems_.empty() && missing_.empty() && unexpected_.empty())
      return not_finite_.warn(file_.path());
    fail<CheckpointError>("'{}' does not fit this run:{}{}{}",
                          file_.path().string(),
                          problems_,
                          missing_.empty() ? "" : " missing in the file:" + missing_ + ";",
                          unexpected_.empty() ? "" : " not used here:" + unexpected_);
  }

 protected:
  void on_tensor(const std::string& name, Tensor& tensor) override {
    const auto found = file_.tensors().find(name);
    if (found == file_.tensors().end()) return add(missing_, name);
    used_.insert(name);
    const TensorEntry& entry = found->second;
    if (entry.shape != tensor.shape() || entry.dtype != tensor.dtype()) {
      problems_ += fmt::format(" '{}' is {} {} in the file, {} {} here;",
                               name,
                               entry.shape,
                               entry.dtype,
                               tensor.shape(),
                               tensor.dtype());
      return;
    }
    check<DeviceError>(tensor.device().is_cpu(), "'{}' must be loaded to the host first", name);
    const std::span<std::byte> bytes(tensor.raw(), tensor.bytes());
    file_.read(entry, bytes);
    // Elsewhere they may be what was saved: the loss of an epoch without validation is NaN.
    if (name.starts_with(kModel)) not_finite_.look_at(name, entry.dtype, bytes);
  }
  void on_integer(const std::string& name, std::int64_t& value) override { number(name, value); }
  void on_real(const std::string& name, double& value) override { number(name, value); }
  void on_text(const std::string& name, std::string& value) override {
    if (const std::string* text = find(name)) value = *text;
  }

 private:
  void find_left_over() {
    for (const auto& [name, entry] : file_.tensors())
      if (!used_.contains(name)) add(unexpected_, name);
    for (const auto& [key, value] : file_.metadata())
      if (key.starts_with(kPrefix) && !used_.contains(key.substr(kPrefix.size())))
        add(unexpected_, key.substr(kPrefix.size()));
  }
  void add(std::string& list, std::string_view name) {
    constexpr std::size_t kShown = 600;  // characters: about ten names
    if (list.size() < kShown)
      list += fmt::format(" '{}'", name);
    else if (!list.ends_with(" ..."))
      list += " ...";
  }
  const std::string* find(const std::string& name) {
    const auto found = file_.metadata().find(std::string(kPrefix) + name);
    if (found == file_.metadata().end()) {
      add(missing_, name);
      return nullptr;
    }
    used_.insert(name);
    return &found->second;
  }
  template <class T>
  void number(const std::string& name, T& value) {
    const std::string* text = find(name);
    if (text == nullptr) return;
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc() || stop != end)
      problems_ += fmt::format(" '{}' is not a number: '{}';", name, *text);
  }

  const SafetensorsFile& file_;
  std::set<std::string, std::less<>> used_;
  detail::NotFinite not_finite_;
  std::string problems_, missing_, unexpected_;
};

}  // namespace

void save_state(const std::filesystem::path& path,
                VisitState visit,
                Metadata metadata,
                const std::filesystem::path& previous) {
  metadata["learn.kind"] = "train";
  Saver saver(std::move(metadata));
  visit(saver);
  write_safetensors(path, saver.tensors(), saver.take_metadata(), previous);
}

Metadata load_state(const std::filesystem::path& path, VisitState visit) {
  const SafetensorsFile file(path);
  Loader loader(file);
  visit(loader);
  loader.finish();
  return file.metadata();
}

void load_part_of_state(const SafetensorsFile& file, VisitState visit) {
  Loader loader(file);
  visit(loader);
  loader.finish(false);
}

}  // namespace learn
