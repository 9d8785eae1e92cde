#include "state.h"

#include <cstdio>
#include <mutex>

namespace emulator {
namespace {

std::mutex mutex;
std::string last_message;
CUresult first_fault = CUDA_SUCCESS;

u32 number(const char* name, u32 otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? u32(std::strtoul(text, nullptr, 10)) : otherwise;
}

}  // namespace

// Maximum shared memory of a block, from NVIDIA's table of compute capabilities.
const Limits& Limits::get() {
  static const Limits limits = [] {
    Limits made;
    u32 capability = number("CAIRN_EMULATOR_CAPABILITY", 80);
    made.major = int(capability / 10);
    made.minor = int(capability % 10);
    made.processors = int(number("CAIRN_EMULATOR_PROCESSORS", 4));
    made.cards = int(number("CAIRN_EMULATOR_CARDS", 1));
    made.shared_opt_in = (capability == 80 || capability == 87               ? 163
                             : capability / 10 == 8 || capability / 10 == 12 ? 99
                                                                             : 227) *
                         1024;
    return made;
  }();
  return limits;
}

CUresult fail(CUresult code, const std::string& what) {
  std::lock_guard lock(mutex);
  last_message = what;
  std::fprintf(stderr, "cairn emulator: %s\n", what.c_str());
  return code;
}

CUresult poison(CUresult code, const std::string& what) {
  {
    std::lock_guard lock(mutex);
    if (first_fault == CUDA_SUCCESS) first_fault = code;
  }
  return fail(code, what);
}

CUresult poisoned() {
  std::lock_guard lock(mutex);
  return first_fault;
}

CUresult submit(CUstream stream, Work work) {
  if (CUresult code = poisoned()) return code;
  if (stream && stream->capture) {
    stream->capture->push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  return work();
}

}  // namespace emulator

CUDA_API const char* cairnEmulatorMessage() { return emulator::last_message.c_str(); }
/// Makes a context usable again after a fault. Not part of NVIDIA's interface: a real card needs a new
/// process.
CUDA_API void cairnEmulatorClear() {
  std::lock_guard lock(emulator::mutex);
  emulator::first_fault = CUDA_SUCCESS;
  emulator::last_message.clear();
}
