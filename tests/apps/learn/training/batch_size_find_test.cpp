#include "apps/learn/training/batch_size_find.h"

#include "apps/learn/common/host.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::cli;

TEST_CASE("a batch size finder takes the options of a training that matter in single steps") {
  BatchSizeFindCommandOptions options;
  const OptionTable table = options.table();
  for (const char* const name : {"data", "optimizer", "precision", "accumulate", "config"})
    CHECK(table.find(name) != nullptr);
  for (const char* const name :
       {"sync-bn", "rank-timeout", "rank-logs", "batch-size", "out", "epochs", "metrics"})
    CHECK(table.find(name) == nullptr);
  options.resolve(table, {{"smallest", "4"}, {"largest", "16"}, {"optimizer", "sgd"}});
  CHECK(options.sizes.smallest == 4);
  CHECK(options.sizes.largest == 16);
  CHECK(options.train.experiment.training.optimizer == "sgd");
}

TEST_CASE("a batch size finder runs") {
  BatchSizeFindCommandOptions options;
  const OptionTable table = options.table();
  options.resolve(table,
                  {{"data", "synthetic10"},
                   {"train-limit", "40"},
                   {"width", "2"},
                   {"threads", "1"},
                   {"device", "cpu"},
                   {"steps", "1"},
                   {"smallest", "16"}});
  CHECK(batch_size_find(options) == 0);
}

TEST_CASE("the memory of this machine is known") {
  const HostMemory memory = host_memory();
  CHECK(memory.total > std::size_t{1} << 28U);
  CHECK(memory.available > 0);
  CHECK(memory.available < memory.total);
  CHECK(proc_value("/proc/meminfo", "no such key").empty());
  CHECK(proc_value("/no such file", "MemTotal").empty());
}
