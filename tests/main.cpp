#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  (void)setenv("LEARN_DEVICE", "cpu", 0);  // what is tested here, unless a test says otherwise
  return doctest::Context(argc, argv).run();
}
