# nvcc's code generation options for the kernels, by the version of nvcc. Run as a script, this file prints them:
#
#   cmake -DVERSION=12.4 -P framework/cmake/CudaCode.cmake

# Sets <options> to nvcc's options. All machine code is assembled from the PTX of compute_80 (ADR 0012). nvcc 12.0
# supports up to sm_90; 12.8 and later also support sm_100 and sm_120.
function(learn_cuda_code version options)
  set(code sm_80 sm_86 sm_89 sm_90)
  if(version VERSION_GREATER_EQUAL 12.8)
    list(APPEND code sm_100 sm_120)
  endif()
  list(JOIN code "," code)
  set(${options} "--generate-code=arch=compute_80,code=[${code},compute_80]" PARENT_SCOPE)
endfunction()

# The tests read the PTX in the binaries. Every nvcc 12 and 13 has this option, but --compress-mode=none only since
# 12.8.
set(LEARN_CUDA_NO_COMPRESSION --no-compress)

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  learn_cuda_code("${VERSION}" options)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${options} ${LEARN_CUDA_NO_COMPRESSION}")
endif()
