# Defines learn::learn, which is all of the libraries, for parent projects. With LEARN_INSTALL it also defines what
# `cmake --install` and cpack install: programs, libraries, headers, and files for find_package and pkg-config.
get_property(libraries GLOBAL PROPERTY LEARN_LIBRARIES)
get_property(exports GLOBAL PROPERTY LEARN_EXPORTS)
set(include_folders $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/learn>)

if(LEARN_SHARED)
  set(objects "")
  set(others "")
  foreach(export IN LISTS exports)
    list(APPEND objects $<TARGET_OBJECTS:${export}>)
    get_target_property(linked ${export} LINK_LIBRARIES)
    list(APPEND others ${linked})
  endforeach()
  if(TARGET learn_kernel_calls)
    list(APPEND objects $<TARGET_OBJECTS:learn_kernel_calls>) # which learn_kernels gets from there
  endif()
  list(FILTER others EXCLUDE REGEX "^learn_")
  list(REMOVE_DUPLICATES others)
  add_library(learn_all SHARED ${objects})
  learn_harden(learn_all)
  set_target_properties(
    learn_all
    PROPERTIES OUTPUT_NAME learn
               LINKER_LANGUAGE CXX
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} # as version.h has it
               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
               INSTALL_RPATH $ORIGIN) # the CUDA backend is in the same folder
  target_link_libraries(learn_all PRIVATE ${others} PUBLIC fmt::fmt Threads::Threads)
  target_link_options(learn_all PRIVATE -Wl,--no-undefined)
  target_include_directories(learn_all INTERFACE ${include_folders})
  target_compile_definitions(learn_all INTERFACE LEARN_HAVE_CUDA=${LEARN_HAVE_CUDA})
  target_compile_features(learn_all INTERFACE cxx_std_20)
else()
  add_library(learn_all INTERFACE)
  target_link_libraries(learn_all INTERFACE ${libraries})
endif()
set_target_properties(learn_all PROPERTIES EXPORT_NAME learn)
add_library(learn::learn ALIAS learn_all)
if(NOT LEARN_INSTALL)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/learn)

set(installed learn_all)
if(NOT LEARN_SHARED)
  list(APPEND installed ${exports})
endif()
install(
  TARGETS ${installed}
  EXPORT learnTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Runtime NAMELINK_COMPONENT Development)
install(
  EXPORT learnTargets
  NAMESPACE learn::
  DESTINATION ${package_folder}
  COMPONENT Development)
foreach(folder framework callbacks models data apps/experiment)
  cmake_path(GET folder PARENT_PATH above)
  install(
    DIRECTORY ${folder}
    DESTINATION include/learn/${above}
    COMPONENT Development
    FILES_MATCHING
    PATTERN "*.h"
    REGEX "/(adr|cmake|device|docs)$" EXCLUDE
    REGEX "/(onnx_nodes|text_layout)\\.h$" EXCLUDE) # include headers that a program need not have
endforeach()
if(LEARN_HAVE_CUDA)
  set_target_properties(learn_cuda PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON) # libcudart
  # Programs load it by name, wherever they are installed.
  target_link_options(learn_kernels INTERFACE
                      $<INSTALL_INTERFACE:LINKER:-rpath,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}>)
  install(TARGETS learn_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Cuda)
endif()
if(LEARN_HAVE_MPI)
  set_target_properties(learn_mpi PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON) # libmpi
  # Programs load it by name, wherever they are installed.
  target_link_options(learn_distributed INTERFACE
                      $<INSTALL_INTERFACE:LINKER:-rpath,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}>)
  install(TARGETS learn_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Mpi)
endif()
if(LEARN_APPS)
  install(TARGETS learn RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Runtime)
  # The program generates its manual pages and shell completions.
  set(manual ${PROJECT_BINARY_DIR}/generated/share)
  add_custom_command(
    OUTPUT ${manual}/man/man1/learn.1
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
    COMMAND learn man --out ${manual}
    DEPENDS learn
    VERBATIM)
  add_custom_target(learn_manual ALL DEPENDS ${manual}/man/man1/learn.1)
  install(
    DIRECTORY ${manual}/
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}
    COMPONENT Runtime)
  if(EXISTS /etc/debian_version) # Debian's zsh searches this folder for the completions of packages
    install(
      FILES ${manual}/zsh/site-functions/_learn
      DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions
      COMPONENT Runtime)
  endif()
endif()

# The packages that find_package(learn) searches for, derived from the targets that these libraries link.
string(REGEX REPLACE "(^|;)learn_" "\\1" names "${libraries}")
configure_package_config_file(framework/cmake/learnConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/learnConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/learnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/generated/learnConfig.cmake ${PROJECT_BINARY_DIR}/generated/learnConfigVersion.cmake
  DESTINATION ${package_folder}
  COMPONENT Development)

# pkg-config has no components, so linking statically names all libraries; the linker takes only what is used.
set(pc_libs -llearn)
set(pc_requires "fmt")
if(NOT LEARN_SHARED)
  list(TRANSFORM exports PREPEND -l OUTPUT_VARIABLE pc_libs)
  list(JOIN pc_libs " " pc_libs)
  set(pc_libs "-Wl,--gc-sections -Wl,--as-needed -Wl,--start-group ${pc_libs} -Wl,--end-group -ldl -pthread")
  string(APPEND pc_requires " spdlog libpng libcrypto libarchive libjpeg libwebp libtiff-4 libpcre2-8 glib-2.0 pangocairo protobuf-lite zlib")
endif()
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(framework/cmake/learn.pc.in ${PROJECT_BINARY_DIR}/generated/learn.pc @ONLY)
install(
  FILES ${PROJECT_BINARY_DIR}/generated/learn.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT Development)

# cpack -G TGZ packs everything into one folder; cpack -G DEB makes learn, learn-dev, learn-cuda and learn-mpi.
set(CPACK_PACKAGE_VENDOR "learn")
set(CPACK_PACKAGE_CONTACT "the authors of learn")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Callback-driven training of neural networks, in C++20 and CUDA")
set(CPACK_PACKAGE_INSTALL_DIRECTORY learn)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME learn)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS fonts-dejavu-core) # for drawings
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME learn-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "learn (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME learn-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON) # the MPI that it was built with
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "learn (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME learn-dev)
file(STRINGS framework/cmake/packages.txt rows REGEX "^build +- ")
list(TRANSFORM rows REPLACE "^build +- +([^ ]+).*" "\\1")
list(REMOVE_ITEM rows libcli11-dev doctest-dev fonts-dejavu-core libstb-dev) # used by programs only, or compiled in
list(JOIN rows ", " packages)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "learn (= ${PROJECT_VERSION}), pkg-config, ${packages}")
include(CPack)
