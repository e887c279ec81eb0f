# Hardening options, as distributions use them. They make memory errors hard to exploit, and have no measurable cost.
# tests/lab/tools/hardened.py checks the machine code for them. Programs contain no folder name of the build machine:
# __FILE__ is relative to the root of the project.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)

set(LEARN_HARDENING "") # for any C++ compiler
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "LEARN_HAVE${flag}" have)
  check_cxx_compiler_flag(${flag} ${have})
  if(${have})
    list(APPEND LEARN_HARDENING ${flag})
  endif()
endforeach()

# Checked calls of the C library. They need an optimizing compiler. They are off with the sanitizers, which check more.
# Level 3 needs a compiler that can compute the sizes of objects at run time, and glibc 2.34; otherwise it causes a
# warning.
set(LEARN_FORTIFY "")
if(NOT LEARN_SANITIZE)
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles(
    "#include <cstring>
     static_assert(__has_builtin(__builtin_dynamic_object_size));
     int main() { return static_cast<int>(std::strlen(\"\")); }" LEARN_HAVE_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(LEARN_FORTIFY -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${LEARN_HAVE_FORTIFY_3}>,3,2>)
endif()

set(LEARN_LINK_HARDENING "") # addresses of functions are resolved at start, and read-only afterwards
foreach(word relro now noexecstack)
  check_linker_flag(CXX -Wl,-z,${word} LEARN_HAVE_LINK_${word})
  if(LEARN_HAVE_LINK_${word})
    list(APPEND LEARN_LINK_HARDENING -Wl,-z,${word})
  endif()
endforeach()
# Possible because learn_settings compiles all code with -fPIC.
check_linker_flag(CXX -pie LEARN_HAVE_PIE)

function(learn_harden target)
  set(options ${LEARN_HARDENING} $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:${LEARN_FORTIFY}>
              -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_compile_options(
    ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=$<JOIN:${options},$<COMMA>>>")
  target_link_options(${target} PRIVATE ${LEARN_LINK_HARDENING})
  get_target_property(type ${target} TYPE)
  if(LEARN_HAVE_PIE AND type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE -pie)
  endif()
endfunction()
