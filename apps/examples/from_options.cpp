#include "apps/experiment/experiment.h"
#include "apps/experiment/reporting.h"

using namespace learn;

int main() {
  ExperimentOptions options;
  options.data.data = "synthetic10";
  set_options(options.table(),
              {{"model", "resnet9:width=8"},
               {"train-limit", "640"},
               {"valid-limit", "200"},
               {"epochs", "2"}});
  Experiment experiment(options);
  add_progress(experiment.learner(), options.run);
  experiment.fit();
}
