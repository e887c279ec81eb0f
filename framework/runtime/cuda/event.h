#pragma once
#include "framework/runtime/cuda/stream.h"

struct CUevent_st;

namespace learn::cuda {

/// A point in a stream's work. Belongs to the device that was current when it was made.
class Event {
 public:
  /// `timed`: `milliseconds_since` may be asked; such events cost the device a little more.
  explicit Event(bool timed = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Marks the end of what has been enqueued on `stream`; a mark made before is forgotten.
  void record(Stream stream);
  /// What is enqueued on `stream` from now on waits for the mark; at once past if there is none.
  void hold_back(Stream stream) const;
  /// Waits on the host until the mark is reached; at once if there is none. Throws DeviceError if
  /// the device failed.
  void wait() const;
  /// Device time between two marks; waits for this one.
  [[nodiscard]] double milliseconds_since(const Event& start) const;

 private:
  CUevent_st* raw_ = nullptr;
};

}  // namespace learn::cuda
