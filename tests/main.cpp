#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

// Written out: DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN does nothing where doctest.h is precompiled.
int main(int argc, char** argv) { return doctest::Context(argc, argv).run(); }
