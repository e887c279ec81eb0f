#include "framework/drawing/drawing.h"

#include "framework/core/error.h"
#include "framework/drawing/png.h"
#include "framework/drawing/svg.h"
#include "framework/drawing/text_layout.h"
#include "framework/io/atomic_file.h"
#include "framework/io/output_place.h"

#include <cairo-svg.h>

#include <cmath>
#include <functional>
#include <new>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace learn::plot {
namespace {

struct SurfaceDeleter {
  void operator()(cairo_surface_t* surface) const noexcept { cairo_surface_destroy(surface); }
};
struct ContextDeleter {
  void operator()(cairo_t* context) const noexcept { cairo_destroy(context); }
};
using SurfaceHandle = std::unique_ptr<cairo_surface_t, SurfaceDeleter>;
using ContextHandle = std::unique_ptr<cairo_t, ContextDeleter>;

void require_success(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS)
    fail<IoError>("Cairo cannot draw: {}", cairo_status_to_string(status));
}

void set_color(cairo_t* to, Color c, double opacity) {
  constexpr double kFull = 255;
  cairo_set_source_rgba(to, c.r / kFull, c.g / kFull, c.b / kFull, opacity);
}

void set_stroke(cairo_t* to, const Stroke& stroke) {
  set_color(to, stroke.color, stroke.opacity);
  cairo_set_line_width(to, stroke.thickness);
  cairo_set_line_join(to, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(to, stroke.dashes.empty() ? CAIRO_LINE_CAP_ROUND : CAIRO_LINE_CAP_BUTT);
  cairo_set_dash(to, stroke.dashes.data(), static_cast<int>(stroke.dashes.size()), 0);
}

void path_through(cairo_t* to, const std::vector<Point>& points) {
  cairo_new_path(to);
  for (const Point& p : points) cairo_line_to(to, p.x, p.y);
}

/// Converts an image to Cairo's format, repeating each pixel `times` times in both directions.
SurfaceHandle to_surface(const Image& image, int times) {
  SurfaceHandle surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, image.width * times, image.height * times));
  require_success(cairo_surface_status(surface.get()));
  unsigned char* const data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (int y = 0; y < image.height * times; ++y) {
    auto* const row = reinterpret_cast<std::uint32_t*>(data + static_cast<std::size_t>(y) * stride);
    for (int x = 0; x < image.width * times; ++x) {
      const Color c = image.pixel(x / times, y / times);
      row[x] = std::uint32_t{c.r} << 16U | std::uint32_t{c.g} << 8U | c.b;
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

void paint_image(cairo_t* to, const Box& box, const Image& image) {
  // Enlarge here, because SVG viewers blur images that they enlarge.
  const double wanted = box.width * kPngScale / image.width;
  const int times = std::max(1, static_cast<int>(std::lround(wanted)));
  const SurfaceHandle surface = to_surface(image, times);
  cairo_save(to);
  cairo_translate(to, box.left, box.top);
  cairo_scale(to, box.width / (image.width * times), box.height / (image.height * times));
  cairo_set_source_surface(to, surface.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(to),
                           wanted >= 1 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_BEST);
  cairo_paint(to);
  cairo_restore(to);
}

/// Returns the offset from the text's top left corner to the point it is placed by.
Point anchor_of(const Size& size, const TextStyle& style) {
  const double right = style.align == Align::left     ? 0
                       : style.align == Align::center ? size.width / 2
                                                      : size.width;
  const double down = style.anchor == Anchor::top      ? 0
                      : style.anchor == Anchor::middle ? size.height / 2
                                                       : size.height;
  return {right, down};
}

void show_text(cairo_t* to, Point at, const std::string& text, const TextStyle& style) {
  const LayoutHandle layout = make_layout(text, style);
  // A layout with a width takes that width, however long its lines are.
  Size size = size_of(layout.get());
  if (style.width > 0) size.width = style.width;
  const Point anchor = anchor_of(size, style);
  cairo_save(to);
  cairo_translate(to, at.x, at.y);
  if (style.upward) cairo_rotate(to, -std::numbers::pi / 2);
  cairo_move_to(to, -anchor.x, -anchor.y);
  set_color(to, style.color, 1);
  pango_cairo_show_layout(to, layout.get());
  cairo_restore(to);
}

cairo_status_t append(void* text, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

struct Drawing::Impl {
  double width, height;
  std::string title;
  std::vector<std::function<void(cairo_t*)>> commands;
  std::vector<std::string> texts;

  void play(cairo_t* to) const {
    set_color(to, kWhite, 1);
    cairo_paint(to);
    for (const auto& command : commands) command(to);
    require_success(cairo_status(to));
  }
};

Drawing::Drawing(double width, double height, std::string title)
    : impl_(new Impl{width, height, std::move(title), {}, {}}) {
  check<UsageError>(
      width > 0 && height > 0, "a drawing must have an area, not {} x {}", width, height);
}
Drawing::~Drawing() = default;
Drawing::Drawing(Drawing&&) noexcept = default;
Drawing& Drawing::operator=(Drawing&&) noexcept = default;

Drawing::Impl& Drawing::impl() const {
  check<std::logic_error>(impl_ != nullptr, "drawing: this one was moved from; use the other");
  return *impl_;
}

double Drawing::width() const { return impl().width; }
double Drawing::height() const { return impl().height; }

void Drawing::fill(const Box& box, Color color, double opacity) {
  impl().commands.emplace_back([=](cairo_t* to) {
    set_color(to, color, opacity);
    cairo_rectangle(to, box.left, box.top, box.width, box.height);
    cairo_fill(to);
  });
}

void Drawing::outline(const Box& box, const Stroke& stroke) {
  impl().commands.emplace_back([=](cairo_t* to) {
    set_stroke(to, stroke);
    cairo_rectangle(to, box.left, box.top, box.width, box.height);
    cairo_stroke(to);
  });
}

void Drawing::polyline(std::span<const Point> points, const Stroke& stroke) {
  if (points.empty()) return;
  if (points.size() == 1)
    return disc(points.front(), stroke.thickness / 2, stroke.color, stroke.opacity);
  impl().commands.emplace_back(
      [through = std::vector<Point>(points.begin(), points.end()), stroke](cairo_t* to) {
        set_stroke(to, stroke);
        path_through(to, through);
        cairo_stroke(to);
      });
}

void Drawing::disc(Point center, double radius, Color color, double opacity) {
  impl().commands.emplace_back([=](cairo_t* to) {
    set_color(to, color, opacity);
    cairo_new_path(to);
    cairo_arc(to, center.x, center.y, radius, 0, 2 * std::numbers::pi);
    cairo_fill(to);
  });
}

void Drawing::image(const Box& box, const Image& image) {
  check<UsageError>(image.width > 0 && image.height > 0 &&
                        image.rgb.size() == 3 * static_cast<std::size_t>(image.width) *
                                                static_cast<std::size_t>(image.height),
                    "an image of {} x {} needs another number of bytes than {}",
                    image.width,
                    image.height,
                    image.rgb.size());
  impl().commands.emplace_back([=](cairo_t* to) { paint_image(to, box, image); });
}

Size Drawing::text(Point at, std::string_view text, const TextStyle& style) {
  if (text.empty()) return {};
  impl().texts.push_back(valid_utf8(text));
  impl().commands.emplace_back(
      [at, shown = impl().texts.back(), style](cairo_t* to) { show_text(to, at, shown, style); });
  return measure(text, style);
}

Size Drawing::measure(std::string_view text, const TextStyle& style) {
  if (text.empty()) return {};
  const Size size = size_of(make_layout(valid_utf8(text), style).get());
  return style.upward ? Size{size.height, size.width} : size;
}

void Drawing::clip(const Box& box) {
  impl().commands.emplace_back([=](cairo_t* to) {
    cairo_reset_clip(to);
    cairo_rectangle(to, box.left, box.top, box.width, box.height);
    cairo_clip(to);
  });
}

void Drawing::unclip() { impl().commands.emplace_back(cairo_reset_clip); }

const std::vector<std::string>& Drawing::texts() const { return impl().texts; }

Image Drawing::render(double scale) const {
  constexpr double kMaxSide = 32767;  // Cairo's
  const double width = std::ceil(impl().width * scale), height = std::ceil(impl().height * scale);
  check<UsageError>(scale > 0 && width <= kMaxSide && height <= kMaxSide,
                    "{} x {} pixels, at a scale of {}: each side must have 1 to {} pixels",
                    width,
                    height,
                    scale,
                    kMaxSide);
  Image image{static_cast<int>(width), static_cast<int>(height), {}};
  const SurfaceHandle surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, image.width, image.height));
  require_success(cairo_surface_status(surface.get()));
  const ContextHandle context(cairo_create(surface.get()));
  cairo_scale(context.get(), scale, scale);
  impl().play(context.get());
  cairo_surface_flush(surface.get());
  const unsigned char* const data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  image.rgb.reserve(3 * static_cast<std::size_t>(image.width) *
                    static_cast<std::size_t>(image.height));
  for (int y = 0; y < image.height; ++y) {
    const auto* const row =
        reinterpret_cast<const std::uint32_t*>(data + static_cast<std::size_t>(y) * stride);
    for (int x = 0; x < image.width; ++x)
      for (const unsigned shift : {16U, 8U, 0U})
        image.rgb.push_back(static_cast<std::uint8_t>(row[x] >> shift));
  }
  return image;
}

std::string Drawing::svg() const {
  std::string text;
  const SurfaceHandle surface(
      cairo_svg_surface_create_for_stream(append, &text, impl().width, impl().height));
  cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  {
    const ContextHandle context(cairo_create(surface.get()));
    impl().play(context.get());
  }
  cairo_surface_finish(surface.get());
  require_success(cairo_surface_status(surface.get()));
  return finished_svg(text, impl().title, impl().texts);
}

void Drawing::save(const std::filesystem::path& path, double scale) const {
  check_drawing_path(path);
  if (path.extension() == ".svg") return write_file_atomically(path, svg());
  const Image image = render(scale);
  write_png(path, image.width, image.height, image.rgb);
}

void check_drawing_path(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending != ".png" && ending != ".svg")
    fail<UsageError>("'{}': a drawing is a .png or an .svg file", path.string());
  check_output(path);
}

}  // namespace learn::plot
