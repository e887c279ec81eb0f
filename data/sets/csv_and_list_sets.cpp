// The data sets "csv" and "list": files named in a table or a list.
#include "data/files/file_tree.h"
#include "data/sets/fixed_parts.h"
#include "data/sets/image_options.h"
#include "data/sets/label_list.h"
#include "data/sets/label_table.h"
#include "framework/core/error.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Lists of files.
struct ListOptions : ImageOptions {
  fs::path root;  ///< empty: the list's folder
};

std::shared_ptr<const FileTree> tree_of(const ListOptions& list, const char* kind) {
  if (list.path.empty()) fail<UsageError>("{0}: give its path, {0}:path=FILE", kind);
  if (!list.root.empty()) return open_tree(list.root);
  const fs::path folder = list.path.parent_path();
  return open_tree(folder.empty() ? "." : folder);
}

DataPair load_listed(const FileTree& tree,
                     LabelledFiles files,
                     const ListOptions& list,
                     const DataOptions& options,
                     const char* hint) {
  DataPair pair;
  if (files.feature_names.empty()) find_files(tree, files, hint);
  const LabelledOptions reading{.classes = options.classes,
                                .valid_fraction = options.valid_fraction,
                                .seed = options.seed,
                                .train_limit = options.train_limit,
                                .valid_limit = options.valid_limit,
                                .decoding = list.decoding(options, pair)};
  if (options.evaluation) {
    pair.valid = read_labelled_for_evaluation(tree, std::move(files), reading);
  } else {
    DataPair read = read_labelled(tree, std::move(files), reading);
    pair.train = std::move(read.train);
    pair.valid = std::move(read.valid);
    pair.passed_over = std::move(read.passed_over);
  }
  return limited(std::move(pair), options);
}

struct CsvOptions : ListOptions {
  TableColumns columns;
  char separator = '\0';  ///< by default chosen by the file's name
};

void declare_csv(OptionTable& t, CsvOptions& o) {
  declare_images(t, o, "the table, with a header");
  t.list("features",
         o.columns.features,
         ',',
         "(A,B,...)",
         "columns of numbers that are the samples, instead of images");
  t.text("root", o.root, "PATH", "folder or archive of the files; default: the table's folder");
  t.text("image",
         o.columns.image,
         "COLUMN",
         "column of file names; default: by common names, or the first");
  t.text("label",
         o.columns.label,
         "COLUMN",
         "column of classes; default: by common names, or the second");
  t.text("label_delim",
         o.columns.label_delim,
         "TEXT",
         "images have several labels, separated by this: ';' or space");
  t.list("targets", o.columns.targets, ',', "(A,B,...)", "columns of real numbers to predict");
  t.text("split",
         o.columns.split,
         "COLUMN",
         "column with train, valid or test, or with true (validation) and false; default: split or "
         "is_valid");
  t.text("suffix", o.columns.suffix, "TEXT", "append to file names: .jpg");
  t.choice("separator",
           o.separator,
           {{"auto", '\0'}, {"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}},
           "separator of cells; auto: tabs in a .tsv file, otherwise the most frequent one in the "
           "header");
}

/// Throws for options that do not apply to features.
void refuse_image_options(const CsvOptions& csv) {
  const CsvOptions usual;
  for (const auto& [name, given] : {std::pair{"size", csv.size != usual.size},
                                    {"channels", csv.channels != usual.channels},
                                    {"max_bad", csv.max_bad != usual.max_bad},
                                    {"skip_bad", csv.skip_bad},
                                    {"stream", csv.stream},
                                    {"cache", csv.cache != usual.cache},
                                    {"root", !csv.root.empty()},
                                    {"image", !csv.columns.image.empty()},
                                    {"suffix", !csv.columns.suffix.empty()}})
    if (given) fail<UsageError>("csv: {} is for images; it has no effect with features", name);
}

DataPair load_csv(const CsvOptions& csv, const DataOptions& options) {
  refuse_directory("data given by their path", options);
  if (!csv.columns.features.empty()) refuse_image_options(csv);
  const std::shared_ptr<const FileTree> tree = tree_of(csv, "csv");
  TableColumns columns = csv.columns;
  if (!columns.targets.empty() && (!columns.label.empty() || !columns.label_delim.empty()))
    fail<UsageError>(
        "csv: targets are numbers to predict, label and label_delim are for labels: give only one "
        "of them");
  if (columns.label_delim == "space") columns.label_delim.assign(1, ' ');
  const char usual = csv.path.extension() == ".tsv" ? '\t' : '\0';
  const char separator = csv.separator == '\0' ? usual : csv.separator;
  return load_listed(
      *tree,
      read_label_table(*tree, csv.path, separator, columns),
      csv,
      options,
      "set the folder or archive that they are relative to with ':root=PATH', and a missing "
      "extension with ':suffix=.jpg'; numbers are read with ':features=(COLUMN,...)'");
}

struct LinesOptions : ListOptions {
  fs::path valid;
  std::string label_regex;
};

void declare_lines(OptionTable& t, LinesOptions& o) {
  declare_images(t, o, "the list, with a file and its label per line");
  t.text("root", o.root, "PATH", "folder or archive of the files; default: the list's folder");
  t.text("valid", o.valid, "FILE", "a list of the validation images, in the same format");
  t.text("label_regex",
         o.label_regex,
         "REGEX",
         "lines contain only files; the regular expression for the class in their path");
}

DataPair load_lines(const LinesOptions& list, const DataOptions& options) {
  refuse_directory("data given by their path", options);
  const std::shared_ptr<const FileTree> tree = tree_of(list, "list");
  const Part part = list.valid.empty() ? Part::unsaid : Part::train;
  LabelledFiles files = read_label_lines(*tree, list.path, part, list.label_regex);
  if (!list.valid.empty()) {
    if (options.valid_fraction)
      fail<UsageError>(
          "a list of validation images ('{}') cannot be combined with a share to split off ({})",
          list.valid.string(),
          *options.valid_fraction);
    LabelledFiles valid = read_label_lines(*tree, list.valid, Part::valid, list.label_regex);
    std::ranges::move(valid.files, std::back_inserter(files.files));
  }
  return load_listed(*tree,
                     std::move(files),
                     list,
                     options,
                     "set the folder or archive that they are relative to with ':root=PATH'");
}

}  // namespace

void register_csv_and_list(DataRegistry& registry) {
  registry.add("csv",
               "a table with a header, with labels of images in a folder, or with numbers",
               CsvOptions{},
               declare_csv,
               load_csv);
  registry.add("list",
               "a text file of images and their labels, one per line",
               LinesOptions{},
               declare_lines,
               load_lines);
}

}  // namespace learn::data
