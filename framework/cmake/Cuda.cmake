# The CUDA backend is compiled whenever nvcc >= 12 is found (no GPU needed) and chosen at run time.
set(LEARN_HAVE_CUDA 0)
if(NOT LEARN_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc) # often not on PATH
  endif()
  # OFF: learn_cuda_settings says what to compile for. Set before enable_language, or CMake caches nvcc's default.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES OFF CACHE STRING "OFF: sm_80, 86, 89, 90, 100 and later ones; or CMake's own list")
  endif()
  # One compiler for all of a program: the system's default may be newer than nvcc takes, or older than we do.
  if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0)
      # CMake 3.25, as in Debian 12, sets a property of this target even where there is no such library: CUDA 13 has none.
      if(NOT TARGET CUDA::nvToolsExt)
        add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
      endif()
      find_package(CUDAToolkit REQUIRED)
      find_package(CUDNN 9)
      if(CUDNN_FOUND)
        set(LEARN_HAVE_CUDA 1)
      else()
        message(STATUS "CUDA backend off: nvcc is here, but not the headers of cuDNN >= 9 (cudnn.h). Install "
                       "cuDNN (NVIDIA's package libcudnn9-dev-cuda-${CUDAToolkit_VERSION_MAJOR}) or set CUDNN_ROOT")
      endif()
    else()
      message(STATUS "CUDA backend off: nvcc ${CMAKE_CUDA_COMPILER_VERSION} has no C++20, 12.0 is needed")
    endif()
  endif()
endif()

if(LEARN_HAVE_CUDA)
  # CMake 3.25 does not know that nvcc 13 speaks C++20. A raw -std flag would lose against CMake's own.
  if(NOT "cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
    set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # Shared everywhere: executables would otherwise link the static runtime as well, and a test runtime
  # could not take its place.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  # cuDNN and cuBLASLt are loaded by name when they are first needed; these are where to look if the
  # loader does not find them.
  foreach(_library CUDNN CUBLASLT)
    set(LEARN_${_library}_LIBRARY "")
  endforeach()
  if(CUDNN_LIBRARY)
    set(LEARN_CUDNN_LIBRARY "${CUDNN_LIBRARY}")
  endif()
  if(TARGET CUDA::cublasLt)
    get_target_property(LEARN_CUBLASLT_LIBRARY CUDA::cublasLt IMPORTED_LOCATION)
  endif()
elseif(LEARN_CUDA STREQUAL "ON")
  message(FATAL_ERROR "LEARN_CUDA=ON, but nvcc >= 12 and cuDNN >= 9 were not both found; set CUDACXX or "
                      "CMAKE_CUDA_COMPILER, and CUDNN_ROOT")
endif()

# One PTX for all architectures: the machine code of each is assembled from the very text that the tests
# interpret, a driver can compile the same for later ones, and nvcc's front end runs once instead of five times.
set(code "architectures ${CMAKE_CUDA_ARCHITECTURES}")
set(LEARN_CUDA_CODE "")
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(code "sm_80,sm_86,sm_89,sm_90,sm_100,compute_80")
  set(LEARN_CUDA_CODE "--generate-code=arch=compute_80,code=[${code}]")
endif()
message(STATUS "CUDA backend: ${LEARN_HAVE_CUDA} (${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, cuDNN "
               "${CUDNN_VERSION}, ${code})")

# Kernels: double arithmetic, local memory and spills are warnings too. -Wpedantic and -Wold-style-cast cannot be used:
# nvcc's own preprocessing breaks them thousands of times.
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
            --compress-mode=none
            -lineinfo>)
  target_link_libraries(${target} PUBLIC CUDA::cudart)
endfunction()
