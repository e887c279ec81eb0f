#pragma once

/// The version of the headers that a program is compiled with. Until 1.0 a new MINOR may change
/// names and meanings, so programs must be checked and compiled again; a new PATCH changes neither,
/// and its shared library replaces the previous one. `find_package(learn 0.1)` accepts only 0.1.x.
/// Files have a separate promise: later versions read the files of earlier ones.
#define LEARN_VERSION_MAJOR 0
#define LEARN_VERSION_MINOR 1
#define LEARN_VERSION_PATCH 0

/// For `#if`: 100 is 0.1.0, 10203 is 1.2.3.
#define LEARN_VERSION_NUMBER \
  (LEARN_VERSION_MAJOR * 10000 + LEARN_VERSION_MINOR * 100 + LEARN_VERSION_PATCH)

#define LEARN_TEXT_OF(number) #number
#define LEARN_VERSION_TEXT(major, minor, patch) \
  LEARN_TEXT_OF(major) "." LEARN_TEXT_OF(minor) "." LEARN_TEXT_OF(patch)
/// "0.1.0"
#define LEARN_VERSION \
  LEARN_VERSION_TEXT(LEARN_VERSION_MAJOR, LEARN_VERSION_MINOR, LEARN_VERSION_PATCH)
