# The CUDA backend is built if the toolkit, 12.0 or newer, and the headers of cuDNN are found (no GPU needed), and is
# selected at run time. Otherwise LEARN_CUDA=AUTO builds without it and prints the reason; ON stops with the same
# reason.
include(CudaToolkit)
set(LEARN_HAVE_CUDA 0)
set(obstacle "LEARN_CUDA is OFF")
if(NOT LEARN_CUDA STREQUAL "OFF")
  # OFF because learn_cuda_settings sets the architectures. Set before enable_language, or CMake caches nvcc's default.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES OFF CACHE STRING "OFF: the list in framework/cmake/CudaCode.cmake; otherwise a list as for CMake")
  endif()
  # Use one compiler for the whole program: the system's default may be newer than nvcc supports, or older than this
  # project requires.
  if(NOT CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER "$ENV{CUDAHOSTCXX}")
    if(NOT CMAKE_CUDA_HOST_COMPILER)
      set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
    endif()
  endif()
  set(obstacle "")
  set(checked "${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_HOST_COMPILER}")
  if(NOT CMAKE_CUDA_COMPILER OR NOT CUDA_CUDART OR NOT LEARN_CUDA_CHECKED STREQUAL checked)
    learn_look_for_cuda(obstacle)
  endif()
  if(NOT obstacle)
    enable_language(CUDA)
    # CMake does not find these if nvcc cannot link programs by itself; /usr/include would precede the compiler's own
    # headers.
    if(NOT CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES)
      set(CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
    endif()
    set(LEARN_CUDA_CHECKED "${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_HOST_COMPILER}" CACHE INTERNAL "usable")
    # CMake 3.25 (Debian 12) sets a property of this target even if the library does not exist, and CUDA 13 does not
    # have it.
    if(NOT TARGET CUDA::nvToolsExt)
      add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
    endif()
    set(CUDA_cudart_LIBRARY "${CUDA_CUDART}" CACHE INTERNAL "what CUDA::cudart is") # its file name may have a version
                                                                                    # suffix
    find_package(CUDAToolkit QUIET)
    learn_python_folders(LEARN_PYTHON_FOLDERS)
    find_package(CUDNN 9.8 QUIET)
    find_file(cublas_header cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_CACHE)
    set(pip nvidia-cudnn-cu${CUDAToolkit_VERSION_MAJOR})
    if(NOT CUDAToolkit_FOUND)
      set(obstacle "the CUDA toolkit's headers do not match ${CMAKE_CUDA_COMPILER}")
    elseif(NOT cublas_header)
      set(obstacle "the toolkit at ${CUDAToolkit_INCLUDE_DIRS} has no cublasLt.h: install the headers of cuBLAS")
    elseif(NOT CUDNN_INCLUDE_DIR)
      set(obstacle "cuDNN's headers (cudnn.h) are missing: install NVIDIA's package libcudnn9-dev-cuda-${CUDAToolkit_VERSION_MAJOR} or pip's ${pip}, or set CUDNN_ROOT")
    elseif(NOT CUDNN_FOUND)
      set(obstacle "cuDNN ${CUDNN_VERSION} (${CUDNN_INCLUDE_DIR}) is too old: 9.8 or newer is needed")
    else()
      set(LEARN_HAVE_CUDA 1)
    endif()
  endif()
  if(obstacle AND LEARN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LEARN_CUDA=ON, but ${obstacle}")
  endif()
endif()

if(NOT LEARN_HAVE_CUDA)
  message(STATUS "CUDA backend: off, because ${obstacle}")
  return()
endif()

# CMake 3.25 does not know that nvcc 13 supports C++20. CMake's own -std flag would override a raw one.
if(NOT "cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
# Targets that need the runtime link the shared one, CUDA::cudart. CMake would add the static one, which a test runtime
# could not replace; and its -lcudart fails because pip's packages have no libcudart.so.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
# cuDNN and cuBLASLt are loaded by name on first use. These are additional paths, if the loader does not find them.
foreach(_library CUDNN CUBLASLT)
  set(LEARN_${_library}_LIBRARY "")
endforeach()
if(CUDNN_LIBRARY)
  set(LEARN_CUDNN_LIBRARY "${CUDNN_LIBRARY}")
endif()
find_library(CUDA_CUBLASLT NAMES cublasLt libcublasLt.so.${CUDAToolkit_VERSION_MAJOR} NAMES_PER_DIR HINTS ${CUDAToolkit_LIBRARY_DIR}
             ${LEARN_PYTHON_FOLDERS} PATH_SUFFIXES cublas/lib)
if(CUDA_CUBLASLT)
  set(LEARN_CUBLASLT_LIBRARY "${CUDA_CUBLASLT}")
endif()

set(LEARN_CUDA_CODE "")
set(code "architectures ${CMAKE_CUDA_ARCHITECTURES}")
if(NOT CMAKE_CUDA_ARCHITECTURES)
  learn_cuda_code(${CMAKE_CUDA_COMPILER_VERSION} LEARN_CUDA_CODE)
  set(code "${LEARN_CUDA_CODE}")
endif()
message(STATUS "CUDA backend: on (${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, ${CUDA_CUDART}, cuDNN ${CUDNN_VERSION}, "
               "${code})")

# In kernels, double arithmetic, local memory and spills are warnings, too. -Wpedantic and -Wold-style-cast cannot be
# used, because code generated by nvcc triggers them thousands of times.
function(learn_cuda_settings target)
  set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION OFF CUDA_EXTENSIONS OFF)
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${LEARN_CUDA_CODE}
            -Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion
            -Xptxas=-warn-double-usage,-warn-lmem-usage,-warn-spills
            $<$<BOOL:${LEARN_WARNINGS_AS_ERRORS}>:-Xcompiler=-Werror>
            $<$<BOOL:${LEARN_WARNINGS_AS_ERRORS}>:-Xptxas=-Werror>
            --expt-relaxed-constexpr
            ${LEARN_CUDA_NO_COMPRESSION}
            -lineinfo>)
  target_link_libraries(${target} PUBLIC CUDA::cudart)
endfunction()
