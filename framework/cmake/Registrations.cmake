# Writes a header that declares and lists each function `void register_NAME(REGISTRY& ...)` that SOURCES define.
#
#   cmake -DREGISTRY=CallbackRegistry -DNAMESPACE=learn::callbacks "-DSOURCES=a.cpp;b.cpp" -DOUTPUT=registrations.h
#         -P Registrations.cmake
set(declarations "")
set(names "")
foreach(source ${SOURCES})
  file(STRINGS ${source} lines REGEX "^void register_[a-z0-9_]+\\(${REGISTRY}& ")
  foreach(line ${lines})
    string(REGEX MATCH "register_[a-z0-9_]+" name "${line}")
    string(APPEND declarations "void ${name}(${REGISTRY}& registry);\n")
    list(APPEND names "\n    ${name}")
  endforeach()
endforeach()
if(names STREQUAL "")
  message(FATAL_ERROR "no source defines a function register_NAME(${REGISTRY}&)")
endif()
list(JOIN names "," names)
file(
  CONFIGURE
  OUTPUT ${OUTPUT}
  CONTENT
    "// Made by framework/cmake/Registrations.cmake.\n#pragma once\nnamespace ${NAMESPACE} {\n\n${declarations}\n\
inline constexpr void (*kRegistrations[])(${REGISTRY}&) = {${names}};\n\n}  // namespace ${NAMESPACE}\n")
