#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <vector>

/// Predicts the time of a training step on more cores from the tasks of a step on one.
namespace learn::bench {

/// An assumed machine.
struct Machine {
  double hand_over = 1;      ///< microseconds of each loop on several threads, apart from its tasks
  double per_thread = 0.05;  ///< microseconds more for each thread: they take turns at a lock
  double core_bandwidth = 20;    ///< GB/s between a core and memory
  double total_bandwidth = 200;  ///< GB/s of all cores together
};

/// An operation in one pass, as measured on one core.
struct MeasuredOperation {
  std::string name;
  double serial = 0;                       ///< seconds outside of loops
  double bytes = 0;                        ///< of operands and results, each once
  std::vector<std::vector<double>> loops;  ///< seconds of their tasks
};

/// Where the time of an operation goes, in seconds. The sum is the prediction.
struct PredictedTime {
  double work = 0;       ///< of all tasks, evenly divided
  double imbalance = 0;  ///< waiting for the last task of a loop
  double hand_over = 0;
  double serial = 0;
  double memory = 0;  ///< that the bytes need beyond all of the above

  [[nodiscard]] double sum() const { return work + imbalance + hand_over + serial + memory; }
  PredictedTime& operator+=(const PredictedTime& o) {
    work += o.work;
    imbalance += o.imbalance;
    hand_over += o.hand_over;
    serial += o.serial;
    memory += o.memory;
    return *this;
  }
};

/// Returns when the last task of a loop ends, if each is taken by the core that is free first, in
/// order, as ThreadPool does.
[[nodiscard]] inline double makespan(const std::vector<double>& tasks, int cores) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int core = 0; core < cores; ++core) free.push(0);
  double end = 0;
  for (const double task : tasks) {
    const double done = free.top() + task;
    free.pop();
    free.push(done);
    end = std::max(end, done);
  }
  return end;
}

[[nodiscard]] inline PredictedTime predicted(const MeasuredOperation& operation,
                                             int cores,
                                             const Machine& machine) {
  PredictedTime time{.serial = operation.serial};
  for (const std::vector<double>& tasks : operation.loops) {
    double sum = 0;
    for (const double task : tasks) sum += task;
    if (tasks.size() == 1 || cores == 1) {
      time.serial += tasks.size() == 1 ? sum : 0;
      time.work += tasks.size() == 1 ? 0 : sum;
      continue;
    }
    time.work += sum / cores;
    time.imbalance += makespan(tasks, cores) - sum / cores;
    time.hand_over += 1e-6 * (machine.hand_over + machine.per_thread * cores);
  }
  // One core has waited for its bytes while it was measured.
  if (cores > 1) {
    const double rate = 1e9 * std::min(machine.core_bandwidth * cores, machine.total_bandwidth);
    time.memory = std::max(0.0, operation.bytes / rate - time.sum());
  }
  return time;
}

}  // namespace learn::bench
