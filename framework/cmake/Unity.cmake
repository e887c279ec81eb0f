# With LEARN_UNITY several sources of a target are compiled as one: headers are read once, and code that all of them
# instantiate is made once. A whole build takes much less time, a small change more, and a missing #include does not show,
# so it is for whole builds beside others. APPS: of apps and tests alone, for a build whose libraries are what users have.
set(LEARN_UNITY OFF CACHE STRING "Compile several sources as one: OFF, ON or APPS")
set_property(CACHE LEARN_UNITY PROPERTY STRINGS OFF ON APPS)
if(NOT LEARN_UNITY MATCHES "^(OFF|ON|APPS)$")
  message(FATAL_ERROR "LEARN_UNITY must be OFF, ON or APPS, not '${LEARN_UNITY}'")
endif()
set(LEARN_UNITY_SIZE 8) # sources; more of them leave one core waiting for another

# learn_unity(target): groups its sources, if that is asked for; unity_groups.py says which do not go together.
function(learn_unity target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  if(LEARN_UNITY STREQUAL "OFF" OR (LEARN_UNITY STREQUAL "APPS" AND NOT folder MATCHES "^(apps|tests)"))
    return()
  endif()
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/framework/cmake/unity_groups.py ${LEARN_UNITY_SIZE} ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes a source for a header here, and warns of classes that have members from its unnamed namespace. A variable
  # with the name of another source's constant hides nothing that its own could mean; other builds warn of real ones.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>
                                           $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
