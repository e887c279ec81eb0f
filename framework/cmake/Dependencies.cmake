# Every dependency is a package of the distribution; nothing is downloaded at build time.
# Debian/Ubuntu names: libspdlog-dev libfmt-dev libcli11-dev doctest-dev nlohmann-json3-dev
# libtomlplusplus-dev libturbojpeg0-dev libpng-dev libssl-dev libarchive-dev
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(PNG REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(LibArchive REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)
if(LEARN_TESTS)
  find_package(doctest REQUIRED)
  include(${doctest_DIR}/doctest.cmake)
endif()
