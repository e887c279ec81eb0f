#include "framework/core/threads/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace learn {
namespace {

/// The numbers of the processors this process may use; empty if the system does not report them.
std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) processors.push_back(cpu);
  return processors;
}

}  // namespace

int usable_processors() { return std::max<int>(1, static_cast<int>(allowed_processors().size())); }

int physical_cores() {
  std::set<std::string> cores;
  for (const int cpu : allowed_processors()) {
    const std::string number = std::to_string(cpu);
    std::string siblings;
    std::ifstream("/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list") >>
        siblings;
    cores.insert(siblings.empty() ? number : siblings);
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

int threads_or_cores(int threads) { return threads > 0 ? threads : physical_cores(); }

std::uintmax_t physical_memory() {
  return static_cast<std::uintmax_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uintmax_t>(::sysconf(_SC_PAGE_SIZE));
}

}  // namespace learn
