# Sets warnings, hardening and sanitizers per target, so that they affect neither the headers of dependencies nor a
# parent project. Its settings do not apply here either, because its compiler may have warnings that are unknown here.
function(learn_settings target)
  set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ${LEARN_WARNINGS_AS_ERRORS})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/learn>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_definitions(${target} PUBLIC LEARN_HAVE_CUDA=${LEARN_HAVE_CUDA}) # headers depend on it
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
            -Wno-missing-field-initializers # this project uses designated initializers with defaults
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # g++ 12 sees overlaps in "text" + string: GCC bug 105651
            $<$<CXX_COMPILER_ID:GNU>:-Wno-error=invalid-pch> # costs time, never a result
            # Any of the libraries can become part of a shared library: the CUDA backend's, or a user's. CMake's
            # property would give programs another flag, and their headers would have to be precompiled again.
            -fPIC
            -fno-semantic-interposition
            # Lets a program omit functions that it does not call.
            -ffunction-sections
            -fdata-sections>)
  learn_harden(${target})
  if(LEARN_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${LEARN_SANITIZE}
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all>)
    if(LEARN_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # The address sanitizer finds most of these errors, too. The exception is alignment, which the programs built by
      # clang (tests/lab/fuzz) check in code that reads untrusted bytes. These checks are a third of the compile time.
      target_compile_options(${target}
                             PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,object-size,alignment,pointer-overflow>)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${LEARN_SANITIZE})
  elseif(LEARN_HAVE_GC_SECTIONS) # not with sanitizers, whose tables of globals refer to every global
    target_link_options(${target} PUBLIC LINKER:--gc-sections) # halves a program that links the static libraries
  endif()
endfunction()

include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:--gc-sections LEARN_HAVE_GC_SECTIONS)

# Small files spend most of their compile time in headers, so these are precompiled: the standard library's for the
# lower layers (in learn_tensor), also the modules' from there up (in learn_nn), and also doctest's for the tests (in
# learn_doctest).
# Precompiled headers require equal compile options. Otherwise g++ rejects them, or accepts them and compiles functions
# for a different instruction set with the options of the headers. So targets with other options precompile their
# headers separately, and single files set SKIP_PRECOMPILE_HEADERS.
# They are off with ccache, which cannot cache compilations that use them, and in the presets dev, tsan and tidy, which
# find missing #includes.
set(LEARN_PRECOMPILED_HEADERS <algorithm> <any> <array> <cstdint> <filesystem> <functional> <map> <memory>
                              <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>
                              <fmt/core.h>)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# Sets <sources> to the .cpp files of this folder and its subfolders, except main.cpp, and folders with a separate
# CMakeLists.txt.
function(learn_find_sources sources)
  file(GLOB_RECURSE found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cpp)
  list(REMOVE_ITEM found main.cpp)
  file(GLOB_RECURSE lists RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
  foreach(list ${lists})
    cmake_path(GET list PARENT_PATH folder)
    list(FILTER found EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(${sources} ${found} PARENT_SCOPE)
endfunction()

# learn_library(learn_NAME DEPENDS other ...): defines a static library, or one of the given TYPE, from the sources that
# learn_find_sources finds and the GENERATED ones, or from SOURCES alone. Other projects use it as learn::NAME, unless
# it is INTERNAL. OPTIMIZATION replaces the presets' level of optimization in release builds.
function(learn_library name)
  cmake_parse_arguments(arg "INTERNAL" "TYPE;OPTIMIZATION" "SOURCES;GENERATED;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(NOT arg_TYPE)
    set(arg_TYPE STATIC)
  endif()
  if(NOT arg_SOURCES)
    learn_find_sources(arg_SOURCES)
  endif()
  add_library(${name} ${arg_TYPE} ${arg_SOURCES} ${arg_GENERATED})
  learn_settings(${name})
  if(arg_TYPE STREQUAL "STATIC" AND NOT arg_INTERNAL)
    learn_export(${name})
    add_library(learn::${export_name} ALIAS ${name})
    set_property(GLOBAL APPEND PROPERTY LEARN_LIBRARIES ${name})
  endif()
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  set(headers ${LEARN_PRECOMPILED_HEADERS})
  if(TARGET learn_nn)
    list(APPEND headers ${PROJECT_SOURCE_DIR}/framework/nn/module.h)
  endif()
  if(arg_OPTIMIZATION)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:${arg_OPTIMIZATION}>)
    target_precompile_headers(${name} PRIVATE ${headers})
  elseif(name MATCHES "^learn_(tensor|nn)$")
    target_precompile_headers(${name} PRIVATE ${headers})
  elseif(TARGET learn_nn)
    target_precompile_headers(${name} REUSE_FROM learn_nn)
  elseif(TARGET learn_tensor)
    target_precompile_headers(${name} REUSE_FROM learn_tensor)
  endif()
endfunction()

# learn_export(learn_NAME): installs a target with the libraries, as learn::NAME. Sets export_name.
function(learn_export name)
  string(REGEX REPLACE "^learn_" "" export_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${export_name})
  set_property(GLOBAL APPEND PROPERTY LEARN_EXPORTS ${name})
  set(export_name ${export_name} PARENT_SCOPE)
endfunction()

# learn_program(name SOURCES a.cpp ... DEPENDS other ...): defines an executable.
function(learn_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  learn_settings(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  target_precompile_headers(${name} REUSE_FROM learn_nn)
endfunction()

# learn_protobuf_schema(name file.proto): compiles protoc's output, without this project's warnings.
function(learn_protobuf_schema name schema)
  add_library(${name} STATIC ${schema})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Os> -ffunction-sections -fdata-sections)
  protobuf_generate(TARGET ${name} LANGUAGE cpp PROTOC_OUT_DIR ${CMAKE_CURRENT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf-lite)
  learn_export(${name})
endfunction()

# learn_registrations(target folder namespace::Registry): generates the header folder/registrations.h, which lists every
# function `register_NAME(Registry&)` defined in a source of the target, and is updated when a source changes. Adding
# one therefore changes no other file, and nothing depends on static initialization.
function(learn_registrations target folder registry)
  get_target_property(sources ${target} SOURCES)
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  string(REGEX MATCH "^(.+)::([^:]+)$" registry ${registry})
  set(header ${PROJECT_BINARY_DIR}/generated/${folder}/registrations.h)
  set(script ${PROJECT_SOURCE_DIR}/framework/cmake/Registrations.cmake)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DREGISTRY=${CMAKE_MATCH_2} -DNAMESPACE=${CMAKE_MATCH_1} "-DSOURCES=${sources}" -DOUTPUT=${header}
            -P ${script}
    DEPENDS ${sources} ${script}
    VERBATIM)
  add_custom_target(${target}_registrations DEPENDS ${header})
  add_dependencies(${target} ${target}_registrations)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
