# Finds cuDNN's headers, and its library if available, next to the CUDA toolkit, in CUDNN_ROOT, in LEARN_PYTHON_FOLDERS,
# or in the system's folders. Building needs only the headers, because the library is loaded when the first convolution
# runs on a GPU. Sets CUDNN_FOUND, CUDNN_INCLUDE_DIR, CUDNN_LIBRARY and CUDNN_VERSION.
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_INCLUDE_DIRS} ${LEARN_PYTHON_FOLDERS}
          PATH_SUFFIXES include cudnn/include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 NAMES_PER_DIR # names in wheels always have a version
             HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_LIBRARY_DIR} ${LEARN_PYTHON_FOLDERS}
             PATH_SUFFIXES lib64 lib cudnn/lib)
foreach(_header cudnn_version.h cudnn_version_v9.h) # newer packages only include the second from the first
  if(CUDNN_INCLUDE_DIR AND EXISTS "${CUDNN_INCLUDE_DIR}/${_header}")
    file(READ "${CUDNN_INCLUDE_DIR}/${_header}" _text)
    if(_text MATCHES "define CUDNN_MAJOR +([0-9]+)")
      set(CUDNN_VERSION "${CMAKE_MATCH_1}")
      foreach(_part MINOR PATCHLEVEL)
        string(REGEX MATCH "define CUDNN_${_part} +([0-9]+)" _ "${_text}")
        string(APPEND CUDNN_VERSION ".${CMAKE_MATCH_1}")
      endforeach()
    endif()
  endif()
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
