#pragma once
#include "framework/drawing/drawing.h"

#include <pango/pangocairo.h>

#include <memory>
#include <string>

/// Text set by Pango. For drawing.cpp.
namespace learn::plot {

struct GObjectDeleter {
  void operator()(gpointer object) const noexcept { g_object_unref(object); }
};
using LayoutHandle = std::unique_ptr<PangoLayout, GObjectDeleter>;

/// What is not UTF-8 is replaced.
[[nodiscard]] std::string valid_utf8(std::string_view text);
/// A text ready to be measured or shown; `text` is valid UTF-8.
[[nodiscard]] LayoutHandle make_layout(const std::string& text, const TextStyle& style);
/// As it is read, not turned.
[[nodiscard]] Size size_of(PangoLayout* layout);

}  // namespace learn::plot
