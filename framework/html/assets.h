#pragma once
#include <string_view>

/// For page.cpp: the files page.css and page.js, which the build embeds in the library.
namespace learn::html {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace learn::html
