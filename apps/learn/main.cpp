#include "apps/learn/cli/run_command.h"

int main(int argc, char** argv) { return learn::cli::run_command({argv + 1, argv + argc}); }
