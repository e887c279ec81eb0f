#pragma once
#include "framework/drawing/confusion_matrix_figure.h"
#include "framework/drawing/image_grid.h"
#include "framework/drawing/plot.h"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

/// Pages for a browser: one file with everything in it, which needs no network and no server.
namespace learn::html {

/// A line above what belongs together in a section.
struct Heading {
  std::string text;
};

/// A paragraph.
struct Note {
  std::string text;
  bool warning = false;  ///< what a reader must not miss
};

/// A few numbers that are seen first.
struct Facts {
  struct Fact {
    std::string name;
    std::string value;
    std::string detail = "";  ///< under the value, small
  };
  std::vector<Fact> facts;
};

struct Table {
  struct Column {
    std::string title;
    bool number = false;  ///< aligned to the right
  };
  struct Row {
    std::vector<std::string> cells;  ///< those that are missing are empty
    bool same = false;               ///< all cells but the first say the same
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  /// A box that is ticked when the page opens: rows that are `same` are not shown.
  bool hides_same = false;
  /// Of two columns without titles: rows stand next to each other where there is room.
  bool pairs = false;
};

/// What stands in a section. A figure of plots has curves whose values are read with the pointer. A
/// matrix is a table of counts, of more classes than a page can hold an image. The page has sizes
/// and columns of its own, and headings in the place of titles: what a figure or grid says of
/// those, and of bold lines, is for drawings alone.
using Block =
    std::variant<Heading, Note, Facts, Table, plot::Figure, plot::ImageGrid, plot::ConfusionFigure>;

struct Section {
  std::string title;
  std::vector<Block> blocks;
};

struct Page {
  std::string title;
  std::string subtitle = "";
  std::vector<std::string> details = {};  ///< lines under it: when, by which command
  std::vector<Section> sections;
};

/// The whole file. The same page is rendered to the same bytes. It is in light colours or dark ones
/// as the reader's system is, or as its button says, and as wide as the screen. Throws UsageError
/// for a row of more cells than columns, and for what the drawings refuse.
[[nodiscard]] std::string render(const Page& page);
/// Writes it, atomically. Throws as `render`, and IoError.
void save(const std::filesystem::path& path, const Page& page);

}  // namespace learn::html
