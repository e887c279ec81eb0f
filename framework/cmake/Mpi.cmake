# The plug-in for communication between processes is built if MPI is found, and is loaded at run time. Otherwise
# LEARN_MPI=AUTO builds without it and prints the reason; ON stops with the same reason.
set(LEARN_HAVE_MPI 0)
set(obstacle "LEARN_MPI is OFF")
if(NOT LEARN_MPI STREQUAL "OFF")
  # C is not a language of this project, and the C interface is also in the libraries for C++.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  set(obstacle "")
  if(MPI_CXX_FOUND)
    set(LEARN_HAVE_MPI 1)
  else()
    set(obstacle "no MPI library is found: install libopenmpi-dev or another MPI, or set MPI_HOME")
  endif()
  if(obstacle AND LEARN_MPI STREQUAL "ON")
    message(FATAL_ERROR "LEARN_MPI=ON, but ${obstacle}")
  endif()
endif()

if(LEARN_HAVE_MPI)
  message(STATUS "MPI plug-in: on (${MPI_CXX_LIBRARIES})")
else()
  message(STATUS "MPI plug-in: off, because ${obstacle}")
endif()
