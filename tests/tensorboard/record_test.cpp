#include "framework/tensorboard/record.h"

#include <doctest/doctest.h>

using namespace learn::tensorboard;

TEST_CASE("checksums agree with RFC 3720 and the catalogue") {
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) {
    rising += static_cast<char>(i);
    falling += static_cast<char>(31 - i);
  }
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43U);
  CHECK(crc32c(rising) == 0x46DD794EU);
  CHECK(crc32c(falling) == 0x113FDB5CU);
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c("") == 0);
}

TEST_CASE("a record is length, checksum, bytes, checksum") {
  const std::string bytes(300, 'x');
  const std::string framed = record(bytes);
  REQUIRE(framed.size() == 8 + 4 + 300 + 4);
  CHECK(framed.substr(0, 8) == std::string("\x2c\x01\0\0\0\0\0\0", 8));
  CHECK(framed.substr(12, 300) == bytes);
  CHECK(record("").size() == 16);
}
