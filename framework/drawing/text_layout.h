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

/// Replaces invalid UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);
/// Lays out a text, which must be valid UTF-8, so that it can be measured or shown.
[[nodiscard]] LayoutHandle make_layout(const std::string& text, const TextStyle& style);
/// Returns the size in reading direction, not rotated.
[[nodiscard]] Size size_of(PangoLayout* layout);

}  // namespace learn::plot
