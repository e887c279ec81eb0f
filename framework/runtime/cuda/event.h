#pragma once
#include "framework/runtime/cuda/stream.h"

struct CUevent_st;

namespace learn::cuda {

/// A point in a stream's work. Belongs to the device that was current when it was made.
class Event {
 public:
  /// `timed`: enables `milliseconds_since`; such events cost the device slightly more.
  explicit Event(bool timed = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Marks the end of what has been enqueued on `stream`; a mark made before is forgotten.
  void record(Stream stream);
  /// Makes later work on `stream` wait for the mark; no effect without a mark.
  void hold_back(Stream stream) const;
  /// Waits on the host until the mark is reached; returns immediately without a mark. Throws
  /// DeviceError if the device failed, and what the watch of the device throws (watch.h).
  void wait() const;
  /// Device time between two marks; waits for this one.
  [[nodiscard]] double milliseconds_since(const Event& start) const;

 private:
  CUevent_st* raw_ = nullptr;
  int device_ = 0;
};

}  // namespace learn::cuda
