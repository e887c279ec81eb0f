// A libnccl.so.2 of version STAND_IN_VERSION that has nothing else.
extern "C" [[gnu::visibility("default")]] int ncclGetVersion(int* version);

int ncclGetVersion(int* version) {
  *version = STAND_IN_VERSION;
  return 0;
}
