#include "data/images/other_content.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string>

namespace learn::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kConvert =
    "convert it to JPEG or PNG, for instance with ImageMagick's convert";
constexpr std::string_view kHeif = "convert it to JPEG or PNG, for instance with heif-convert";
constexpr std::string_view kUnpack = "unpack it";
constexpr std::string_view kArray = "give its path as the data set, not the folder of the images";
constexpr std::string_view kGetAgain = "get the image again";

struct Signature {
  std::size_t at;
  std::string_view bytes;
  OtherContent content;
};

/// The first match counts.
constexpr std::array kSignatures{
    Signature{4, "ftypavi"sv, {"AVIF", kHeif}},
    Signature{4, "ftyphei"sv, {"HEIC", kHeif}},
    Signature{4, "ftyphev"sv, {"HEIC", kHeif}},
    Signature{4, "ftypmif1"sv, {"HEIC or AVIF", kHeif}},
    Signature{4, "ftypmsf1"sv, {"HEIC or AVIF", kHeif}},
    Signature{4, "ftypcrx "sv, {"a raw photograph (CR3)", kConvert}},
    Signature{4, "ftyp"sv, {"a video", "save some of its images"}},
    Signature{8, "AVI "sv, {"a video", "save some of its images"}},
    Signature{0, "\xFF\x0A"sv, {"JPEG XL", "convert it to JPEG or PNG, with djxl"}},
    Signature{0, "\0\0\0\x0CJXL "sv, {"JPEG XL", "convert it to JPEG or PNG, with djxl"}},
    Signature{0, "\0\0\0\x0CjP  "sv, {"JPEG 2000", kConvert}},
    Signature{0, "\xFF\x4F\xFF\x51"sv, {"JPEG 2000", kConvert}},
    Signature{0, "8BPS"sv, {"a Photoshop document", kConvert}},
    Signature{0, "gimp xcf"sv, {"a GIMP document", kConvert}},
    Signature{0, "\0\0\1\0"sv, {"an icon (ICO)", kConvert}},
    Signature{0, "qoif"sv, {"QOI", kConvert}},
    Signature{0, "DDS "sv, {"DDS", kConvert}},
    Signature{0, "\x76\x2F\x31\x01"sv, {"OpenEXR", kConvert}},
    Signature{0, "#?RADIANCE"sv, {"Radiance HDR", kConvert}},
    Signature{0, "FUJIFILMCCD-RAW"sv, {"a raw photograph (RAF)", kConvert}},
    Signature{128, "DICM"sv, {"DICOM", kConvert}},
    Signature{0, "SIMPLE  ="sv, {"FITS", kConvert}},
    Signature{0, "%PDF-"sv, {"a PDF document", "save its images, for instance with pdfimages"}},
    Signature{0, "%!PS"sv, {"PostScript", kConvert}},
    Signature{0, "\x93NUMPY"sv, {"a NumPy array", kArray}},
    Signature{0, "\0\0\x08\1"sv, {"an idx file (MNIST's format)", kArray}},
    Signature{0, "\0\0\x08\3"sv, {"an idx file (MNIST's format)", kArray}},
    Signature{0, "\x89HDF\r\n\x1A\n"sv, {"HDF5", "save its images as files"}},
    Signature{0, "\x80\2"sv, {"a pickle of Python", "save its images as files"}},
    Signature{0, "\x80\3"sv, {"a pickle of Python", "save its images as files"}},
    Signature{0, "\x80\4"sv, {"a pickle of Python", "save its images as files"}},
    Signature{0, "\x80\5"sv, {"a pickle of Python", "save its images as files"}},
    Signature{0, "PK\3\4"sv, {"a zip archive", kUnpack, true}},
    Signature{0, "PK\5\6"sv, {"an empty zip archive", kGetAgain, true}},
    Signature{0, "\x1F\x8B"sv, {"a gzip file", kUnpack, true}},
    Signature{0, "BZh"sv, {"a bzip2 file", kUnpack, true}},
    Signature{0, "\xFD\x37zXZ\0"sv, {"an xz file", kUnpack, true}},
    Signature{0, "\x28\xB5\x2F\xFD"sv, {"a zstd file", kUnpack, true}},
    Signature{0, "7z\xBC\xAF\x27\x1C"sv, {"a 7z archive", kUnpack, true}},
    Signature{0, "Rar!\x1A\7"sv, {"a RAR archive", kUnpack, true}},
    Signature{257, "ustar"sv, {"a tar archive", kUnpack, true}},
    Signature{0, "version https://git-lfs."sv, {"a git-lfs pointer", "run 'git lfs pull'"}},
    Signature{0, "/annex/objects/"sv, {"a git-annex pointer", "run 'git annex get'"}},
    Signature{
        0,
        "\0\5\x16\7"sv,
        {"macOS metadata of a file (AppleDouble)", "use the file of the same name without '._'"}}};

/// Returns the start in lower case, without a byte order mark and leading blanks; empty if it is
/// not mostly ASCII text.
std::string text_of(std::span<const std::uint8_t> start) {
  std::string text;
  for (const std::uint8_t byte : start) {
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' && byte != '\f') return {};
    text += static_cast<char>(std::tolower(byte));
  }
  constexpr auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (2 * std::ranges::count_if(text, is_ascii) < std::ssize(text)) return {};
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  text.erase(0, text.find_first_not_of(" \t\n\r\f"));
  return text;
}

}  // namespace

OtherContent other_content(std::span<const std::uint8_t> start) {
  start = start.first(std::min(start.size(), kContentBytes));
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  for (const Signature& signature : kSignatures)
    if (bytes.size() > signature.at && bytes.substr(signature.at).starts_with(signature.bytes))
      return signature.content;
  if (!bytes.empty() && bytes.find_first_not_of('\0') == std::string_view::npos)
    return {"only zeros", "its copy or download is incomplete; get it again"};
  const std::string text = text_of(start);
  if (text.empty()) return {};
  if (text.find("<svg") != std::string::npos) return {"SVG", kConvert};
  if (text.starts_with("<!doctype html") || text.find("<html") != std::string::npos)
    return {"an HTML page", "a server sent it in place of the image; get the image again"};
  return {"text", kGetAgain};
}

}  // namespace learn::data
