# Warnings and sanitizers are set per target, so that nothing leaks into other people's headers.
function(learn_settings target)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE LEARN_HAVE_CUDA=${LEARN_HAVE_CUDA})
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall
            -Wextra
            -Wpedantic
            -Wconversion
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wsuggest-override
            -Wno-missing-field-initializers # designated initialisers with defaults are our style
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # g++ 12 sees overlaps in "text" + string: GCC bug 105651
            -Werror>)
  if(LEARN_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${LEARN_SANITIZE}
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all>)
    target_link_options(${target} PUBLIC -fsanitize=${LEARN_SANITIZE})
  endif()
endfunction()

# GNU ld takes twice as long over programs of 60 MB: most of it is kernels, for five architectures.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold LEARN_HAVE_GOLD)
if(LEARN_HAVE_GOLD AND NOT LEARN_SANITIZE)
  add_link_options(-fuse-ld=gold)
endif()

# Small files spend most of their time in headers, which are precompiled therefore: those of the standard library
# for the lower rooms (in learn_tensor), the modules' too from there on up (in learn_nn), and doctest's as well for
# the tests (in learn_doctest). Not where ccache is at work, which serves no compilation that uses
# them, and not in the presets dev, tsan and tidy: an #include that is missing is found there.
set(LEARN_PRECOMPILED_HEADERS <algorithm> <any> <array> <cstdint> <filesystem> <functional> <map> <memory>
                              <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>
                              <fmt/core.h>)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# learn_library(name SOURCES a.cpp ... DEPENDS other ...): one static library per folder.
function(learn_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  learn_settings(${name})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  if(name STREQUAL "learn_tensor")
    target_precompile_headers(${name} PRIVATE ${LEARN_PRECOMPILED_HEADERS})
  elseif(name STREQUAL "learn_nn")
    target_precompile_headers(${name} PRIVATE ${LEARN_PRECOMPILED_HEADERS} ${PROJECT_SOURCE_DIR}/framework/nn/module.h)
  elseif(TARGET learn_nn)
    target_precompile_headers(${name} REUSE_FROM learn_nn)
  elseif(TARGET learn_tensor)
    target_precompile_headers(${name} REUSE_FROM learn_tensor)
  endif()
endfunction()

# learn_program(name SOURCES a.cpp ... DEPENDS other ...): an executable.
function(learn_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  learn_settings(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  target_precompile_headers(${name} REUSE_FROM learn_nn)
endfunction()
