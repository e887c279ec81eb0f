# Programs load the CUDA backend when they look for a device, so that they also start without CUDA. The functions of
# learn::kernels::cuda are therefore missing when a program is linked. This script defines them, from the object files
# that call them (cuda_library.h, cuda_call.h), so that no list is maintained by hand.
#
#   cmake -DNM=nm "-DOBJECTS=a.o;b.o" -DOUTPUT=cuda_calls.cpp -P CudaCalls.cmake
execute_process(COMMAND ${NM} --undefined-only ${OBJECTS} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "_ZNK?5learn4cuda[A-Za-z0-9_]+" symbols "${text}")
list(REMOVE_DUPLICATES symbols)
list(SORT symbols)
list(LENGTH symbols count)
if(count EQUAL 0)
  message(FATAL_ERROR "no function of learn::kernels::cuda is called in ${OBJECTS}")
endif()

set(index 0)
set(names "")
set(slots "")
set(calls "")
foreach(symbol ${symbols})
  string(APPEND names "    \"${symbol}\",\n")
  string(APPEND slots "    learn_cuda_not_loaded,\n")
  string(APPEND calls "LEARN_CUDA_CALL(${index}, \"${symbol}\");\n")
  math(EXPR index "${index} + 1")
endforeach()
file(
  WRITE ${OUTPUT}
  "// Made by framework/cmake/CudaCalls.cmake.
#include \"framework/runtime/cuda_call.h\"
#include \"framework/runtime/cuda_library.h\"

extern \"C\" {
const std::size_t kLearnCudaCallCount = ${count};
const char* const kLearnCudaCallSymbols[] = {
${names}};
void (*learn_cuda_calls[])() = {
${slots}};
}

${calls}")
