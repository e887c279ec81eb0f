#include "apps/experiment/image_limit.h"

#include "framework/core/options/option_table.h"

namespace learn {

ImageLimit::ImageLimit(std::int64_t count) : value_(count), text_(std::to_string(count)) {}

ImageLimit::ImageLimit(const std::string& text) : text_(text) {
  if (text.find('.') != std::string::npos)
    value_ = parse_real(text, kPositiveShare);
  else
    value_ = parse_integer(text, kPositive);
}

}  // namespace learn
