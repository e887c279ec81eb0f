#pragma once
#include "framework/drawing/confusion_matrix_figure.h"
#include "framework/drawing/image_grid.h"
#include "framework/drawing/plot.h"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

/// Self-contained HTML pages: one file that needs neither network nor server.
namespace learn::html {

/// A heading for a group of blocks in a section.
struct Heading {
  std::string text;
};

/// A paragraph.
struct Note {
  std::string text;
  bool warning = false;  ///< must not be missed
};

/// A few numbers shown at the top.
struct Facts {
  struct Fact {
    std::string name;
    std::string value;
    std::string detail = "";  ///< small, under the value
  };
  std::vector<Fact> facts;
};

struct Table {
  struct Column {
    std::string title;
    bool number = false;  ///< aligned to the right
  };
  struct Row {
    std::vector<std::string> cells;  ///< missing cells are empty
    bool same = false;               ///< all cells except the first are equal
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  /// Whether to show a checkbox that hides the rows that are `same`; it is ticked when the page
  /// opens.
  bool hides_same = false;
  /// For two columns without titles: whether rows are placed next to each other where there is
  /// room.
  bool pairs = false;
};

/// Content of a section. A figure of plots becomes curves that show their values on hover. A matrix
/// becomes a table of counts, or an image above the number of classes a page can hold. The page has
/// sizes and columns of its layout, and headings instead of titles: the sizes, columns, titles and
/// bold lines of a figure or grid apply to drawings only.
using Block =
    std::variant<Heading, Note, Facts, Table, plot::Figure, plot::ImageGrid, plot::ConfusionFigure>;

struct Section {
  std::string title;
  std::vector<Block> blocks;
};

struct Page {
  std::string title;
  std::string subtitle = "";
  std::vector<std::string> details = {};  ///< lines under it: time, command
  std::vector<Section> sections;
};

/// Returns the whole file. Equal pages render to equal bytes. Colours are light or dark as the
/// reader's system or the page's button selects, and the page is as wide as the screen. Throws
/// UsageError for a row of more cells than columns, and for content that the drawings reject.
[[nodiscard]] std::string render(const Page& page);
/// Writes the file, atomically. Throws as `render` does; IoError.
void save(const std::filesystem::path& path, const Page& page);

}  // namespace learn::html
