#include "tests/lab/cuda/fake/race_check.h"

#include "tests/lab/cuda/fake/limits.h"
#include "tests/lab/cuda/fake/stop.h"

#include <algorithm>

namespace fakecuda {
namespace {

/// The number of the last phase of the process: cells of earlier launches are recognized by it.
std::uint32_t& last_phase() {
  static std::uint32_t phase = 0;
  return phase;
}

std::uint32_t next_phase() {
  if (++last_phase() == 0) stop("more than 2^32 barriers and blocks in one process");
  return last_phase();
}

}  // namespace

void RaceCheck::begin_launch() { launch_first_ = last_phase() + 1; }

void RaceCheck::begin_block() {
  block_first_ = phase_ = next_phase();
  threads_.assign(kMaxThreads, {});
  acquired_.clear();
}

void RaceCheck::pass_barrier() { phase_ = next_phase(); }

void RaceCheck::fence(std::uint32_t thread, std::uint32_t fences) {
  LastFence& mine = threads_[thread];
  mine.phase = phase_;
  mine.fences = fences;
  for (const Release& release : mine.pending) acquired_.push_back({release, thread, phase_});
  mine.pending.clear();
}

void RaceCheck::atomic(std::uintptr_t address, std::uint32_t thread) {
  LastFence& mine = threads_[thread];
  auto& here = releases_[address];
  mine.pending.insert(mine.pending.end(), here.begin(), here.end());
  if (mine.phase != 0) here.push_back({block_first_, mine.phase, thread, mine.fences});
}

bool RaceCheck::released(std::uint32_t phase, Stamp other, Stamp me) const {
  return std::any_of(acquired_.begin(), acquired_.end(), [&](const Acquired& got) {
    const Release& release = got.release;
    const bool covers =
        phase >= release.block_first &&
        (phase < release.phase || (phase == release.phase && other.thread == release.thread &&
                                   other.fences < release.fences));
    return covers && (got.thread == me.thread || got.phase < phase_);
  });
}

const char* RaceCheck::collision(std::uint32_t phase, Stamp other, const char* what) {
  text_ = fmt::format("{} of thread {}{}{}",
                      what,
                      static_cast<unsigned>(other.thread),
                      other.many != 0 ? " and others" : "",
                      phase < block_first_ ? " of another block" : "");
  return text_.c_str();
}

}  // namespace fakecuda
