#include "framework/tensorboard/event_file.h"

#include "framework/core/error.h"
#include "framework/io/file_system.h"
#include "framework/tensorboard/event.pb.h"
#include "framework/tensorboard/event_folder.h"
#include "framework/tensorboard/record.h"

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace learn::tensorboard {
namespace {

// How each kind of value is stored. Numbers, images and histograms are stored as in TensorFlow 1
// and PyTorch, which every reader supports.

void store(float number, proto::Summary::Value& to) { to.set_simple_value(number); }

void store(const Histogram& histogram, proto::Summary::Value& to) {
  proto::HistogramProto& out = *to.mutable_histo();
  out.set_min(histogram.min);
  out.set_max(histogram.max);
  out.set_num(static_cast<double>(histogram.finite));
  out.set_sum(histogram.sum);
  out.set_sum_squares(histogram.sum_squares);
  out.mutable_bucket_limit()->Add(histogram.limits.begin(), histogram.limits.end());
  out.mutable_bucket()->Add(histogram.counts.begin(), histogram.counts.end());
}

void store(const PngImage& image, proto::Summary::Value& to) {
  constexpr int kRgb = 3;
  proto::Summary::Image& out = *to.mutable_image();
  out.set_width(image.width);
  out.set_height(image.height);
  out.set_colorspace(kRgb);
  out.set_encoded_image_string(image.bytes);
}

void store(const Markdown& markdown, proto::Summary::Value& to) {
  to.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  to.mutable_metadata()->set_data_class(proto::DATA_CLASS_TENSOR);
  to.mutable_tensor()->set_dtype(proto::DT_STRING);
  to.mutable_tensor()->add_string_val(markdown.text);
}

proto::Event event_at(std::int64_t step, double wall_time) {
  proto::Event event;
  event.set_step(step);
  event.set_wall_time(wall_time);
  return event;
}

std::string record_of(const proto::Event& event) { return record(event.SerializeAsString()); }

std::string head(std::int64_t first_step) {
  proto::Event version = event_at(0, wall_time_now());
  version.set_file_version("brain.Event:2");
  version.mutable_source_metadata()->set_writer("learn");
  proto::Event start = event_at(first_step, wall_time_now());
  start.mutable_session_log()->set_status(proto::SessionLog::START);
  return record_of(version) + record_of(start);
}

}  // namespace

double wall_time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t first_step)
    : file_(new_event_file(folder), AppendFile::Open::create) {
  if (disk().sync_folder(folder) != 0)
    fail<IoError>("cannot sync '{}': {}", folder.string(), std::strerror(errno));
  file_.append(head(first_step));
}

void EventFile::write(std::span<const Event> events) {
  std::string records;
  for (const Event& event : events) {
    proto::Event out = event_at(event.step, event.wall_time);
    for (const Value& value : event.values) {
      proto::Summary::Value& to = *out.mutable_summary()->add_value();
      to.set_tag(value.tag);
      std::visit([&](const auto& content) { store(content, to); }, value.value);
    }
    records += record_of(out);
  }
  file_.append(records);
}

}  // namespace learn::tensorboard
