# Warnings, hardening and sanitizers are set per target, so that nothing leaks into other people's headers, or from a
# parent project's settings into ours: its compiler may know warnings that ours do not.
function(learn_settings target)
  set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ${LEARN_WARNINGS_AS_ERRORS})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/learn>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_definitions(${target} PUBLIC LEARN_HAVE_CUDA=${LEARN_HAVE_CUDA}) # headers differ
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
            $<$<CXX_COMPILER_ID:GNU>:-Wno-error=invalid-pch> # costs time, never a result
            # Any of the libraries can become part of a shared one: the CUDA backend's, or a user's. Not CMake's property,
            # which gives programs another flag, and with it headers that must be precompiled again.
            -fPIC
            -fno-semantic-interposition
            # So that a program can leave out what it does not call.
            -ffunction-sections
            -fdata-sections>)
  learn_harden(${target})
  if(LEARN_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${LEARN_SANITIZE}
                                             -fno-omit-frame-pointer -fno-sanitize-recover=all>)
    if(LEARN_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # What these find the address sanitizer finds too, but for alignment, which clang's programs check (tests/lab/fuzz) in
      # what reads bytes of others. They are a third of the time to compile.
      target_compile_options(${target}
                             PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,object-size,alignment,pointer-overflow>)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${LEARN_SANITIZE})
  endif()
endfunction()

include(CheckLinkerFlag)
# Not of the sanitizers' programs, whose tables of globals name every one of them.
check_linker_flag(CXX -Wl,--gc-sections LEARN_HAVE_GC_SECTIONS)
if(LEARN_HAVE_GC_SECTIONS AND NOT LEARN_SANITIZE)
  add_link_options(-Wl,--gc-sections)
endif()

# Small files spend most of their time in headers, which are precompiled therefore: those of the standard library
# for the lower rooms (in learn_tensor), the modules' too from there on up (in learn_nn), and doctest's as well for
# the tests (in learn_doctest). They are for files compiled with the same options alone: elsewhere g++ refuses them, or
# takes them and compiles functions for an instruction set of their own with the options the headers had. So targets
# with options of their own have headers of their own, and single files SKIP_PRECOMPILE_HEADERS. Not where ccache is at
# work, which serves no compilation that uses them, and not in the presets dev, tsan and tidy: an #include that is
# missing is found there.
set(LEARN_PRECOMPILED_HEADERS <algorithm> <any> <array> <cstdint> <filesystem> <functional> <map> <memory>
                              <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>
                              <fmt/core.h>)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# Sets <sources> to the .cpp files of this folder and those below it, without main.cpp, and without folders that have a
# CMakeLists.txt of their own.
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

# learn_library(learn_NAME DEPENDS other ...): one static library per folder, of the sources that learn_find_sources finds
# and of GENERATED ones, or of SOURCES alone; or one of the TYPE given. It is learn::NAME to other projects, unless it is
# INTERNAL. OPTIMIZATION replaces the presets' level of optimisation in release builds.
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

# learn_export(learn_NAME): it is installed with the libraries, and is learn::NAME there. Sets export_name.
function(learn_export name)
  string(REGEX REPLACE "^learn_" "" export_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${export_name})
  set_property(GLOBAL APPEND PROPERTY LEARN_EXPORTS ${name})
  set(export_name ${export_name} PARENT_SCOPE)
endfunction()

# learn_program(name SOURCES a.cpp ... DEPENDS other ...): an executable.
function(learn_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  learn_settings(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  target_precompile_headers(${name} REUSE_FROM learn_nn)
endfunction()

# learn_protobuf_schema(name file.proto): what protoc makes of messages, compiled without our warnings, as it is not ours.
function(learn_protobuf_schema name schema)
  add_library(${name} STATIC ${schema})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Os> -ffunction-sections -fdata-sections)
  protobuf_generate(TARGET ${name} LANGUAGE cpp PROTOC_OUT_DIR ${CMAKE_CURRENT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf-lite)
  learn_export(${name})
endfunction()

# learn_registrations(target folder namespace::Registry): every function `register_NAME(Registry&)` that a source of the
# target defines is listed in the header folder/registrations.h, which is written again when a source changes. So nothing
# else must be touched to add one, and nothing depends on static initialisation.
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
