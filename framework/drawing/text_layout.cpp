#include "framework/drawing/text_layout.h"

#include "framework/core/log.h"
#include "framework/drawing/sanitizer_suppressions.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>

namespace learn::plot {
namespace {

struct OptionsDeleter {
  void operator()(cairo_font_options_t* options) const noexcept {
    cairo_font_options_destroy(options);
  }
};
struct FontDeleter {
  void operator()(PangoFontDescription* font) const noexcept { pango_font_description_free(font); }
};
struct FreeDeleter {
  void operator()(gpointer memory) const noexcept { g_free(memory); }
};

/// Warns once per process.
void warn_if_no_font(PangoFontMap* map) {
  static std::once_flag once;
  std::call_once(once, [&] {
    PangoFontFamily** families = nullptr;
    int count = 0;
    pango_font_map_list_families(map, &families, &count);
    const std::unique_ptr<PangoFontFamily*, FreeDeleter> owned(families);
    // These families always exist, whatever they map to.
    constexpr std::array<std::string_view, 4> kAliases{"Sans", "Serif", "Monospace", "System-ui"};
    for (int i = 0; i < count; ++i)
      if (std::ranges::find(kAliases, pango_font_family_get_name(families[i])) == kAliases.end())
        return;
    log::warn("[drawing] no font found, so letters are boxes; install DejaVu (fonts-dejavu-core)");
  });
}

/// Makes fonts scale uniformly: hinted fonts would be wider or narrower in pixels than as vectors.
LayoutHandle empty_layout() {
  // Not the thread's default font map of Pango, which a main thread never frees.
  thread_local const std::unique_ptr<PangoFontMap, GObjectDeleter> owned(
      pango_cairo_font_map_new());
  PangoFontMap* const map = owned.get();
  warn_if_no_font(map);
  const std::unique_ptr<PangoContext, GObjectDeleter> context(pango_font_map_create_context(map));
  const std::unique_ptr<cairo_font_options_t, OptionsDeleter> options(cairo_font_options_create());
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(context.get(), options.get());
  pango_cairo_context_set_resolution(context.get(), 72);
  pango_context_set_language(context.get(), pango_language_from_string("en"));
  pango_context_set_round_glyph_positions(context.get(), FALSE);
  return LayoutHandle(pango_layout_new(context.get()));
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  const std::unique_ptr<char, FreeDeleter> valid(
      g_utf8_make_valid(text.data(), static_cast<gssize>(text.size())));
  return valid.get();
}

LayoutHandle make_layout(const std::string& text, const TextStyle& style) {
  LayoutHandle layout = empty_layout();
  const std::unique_ptr<PangoFontDescription, FontDeleter> font(pango_font_description_new());
  pango_font_description_set_family_static(font.get(), "DejaVu Sans, sans-serif");
  pango_font_description_set_absolute_size(font.get(), style.size * PANGO_SCALE);
  if (style.bold) pango_font_description_set_weight(font.get(), PANGO_WEIGHT_BOLD);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_alignment(layout.get(),
                             style.align == Align::left     ? PANGO_ALIGN_LEFT
                             : style.align == Align::center ? PANGO_ALIGN_CENTER
                                                            : PANGO_ALIGN_RIGHT);
  if (style.width > 0) {
    pango_layout_set_width(layout.get(), static_cast<int>(style.width * PANGO_SCALE));
    pango_layout_set_ellipsize(layout.get(),
                               style.cut_middle ? PANGO_ELLIPSIZE_MIDDLE : PANGO_ELLIPSIZE_END);
    pango_layout_set_height(layout.get(), -std::max(1, style.lines));
    pango_layout_set_wrap(layout.get(), PANGO_WRAP_WORD_CHAR);
  }
  if (style.lines <= 1) pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  pango_layout_set_text(layout.get(), text.data(), static_cast<int>(text.size()));
  return layout;
}

Size size_of(PangoLayout* layout) {
  PangoRectangle extents;
  pango_layout_get_extents(layout, nullptr, &extents);
  return {pango_units_to_double(extents.width), pango_units_to_double(extents.height)};
}

}  // namespace learn::plot
