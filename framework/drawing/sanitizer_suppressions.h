#pragma once

/// Suppressions for the sanitizers, which call these functions, of reports from the libraries that
/// set text. Included by text_layout.cpp, so that every program that draws has them.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEARN_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define LEARN_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LEARN_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define LEARN_THREAD_SANITIZER
#endif

// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizers' names
#ifdef LEARN_ADDRESS_SANITIZER
/// fontconfig 2.14 leaks 288 bytes when it reads its configuration.
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
#endif

#ifdef LEARN_THREAD_SANITIZER
/// GLib's locks are system calls that the sanitizer cannot observe, so data that Pango's thread
/// read from the fonts looks like a race.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libfontconfig.so\n"
         "called_from_lib:libglib-2.0.so\n"
         "called_from_lib:libgobject-2.0.so\n"
         "called_from_lib:libpango-1.0.so\n"
         "called_from_lib:libpangocairo-1.0.so\n"
         "called_from_lib:libpangoft2-1.0.so\n"
         "called_from_lib:libharfbuzz.so\n"
         "called_from_lib:libfreetype.so\n"
         "called_from_lib:libcairo.so\n";
}
#endif
// NOLINTEND(bugprone-reserved-identifier)
