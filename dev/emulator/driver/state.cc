#include "state.h"

#include <cstdio>
#include <mutex>
#include <set>

namespace emulator {
namespace {

std::mutex mutex;
std::string last_message;
CUresult first_fault = CUDA_SUCCESS;

u32 number(const char* name, u32 otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? u32(std::strtoul(text, nullptr, 10)) : otherwise;
}

// Recursive, because waiting for all streams waits for each.
struct Streams {
  std::recursive_mutex mutex;
  std::set<CUstream> all;
};
Streams& streams() {
  static Streams made;
  return made;
}

bool runs_late() {
  static const bool is_late = [] {
    const char* text = std::getenv("CAIRN_EMULATOR_STREAMS");
    return text && std::string(text) == "late";
  }();
  return is_late;
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
  if (stream && runs_late()) {
    std::lock_guard lock(streams().mutex);
    stream->pending.push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  return work();
}

CUresult run_pending(CUstream stream, const CUevent_st* until) {
  std::lock_guard lock(streams().mutex);
  while (stream && !stream->pending.empty() && !(until && until->pending == 0)) {
    const Work work = std::move(stream->pending.front());
    stream->pending.pop_front();
    if (CUresult code = work()) return code;
  }
  return poisoned();
}

CUresult run_all_pending() {
  std::lock_guard lock(streams().mutex);
  for (CUstream stream : streams().all) run_pending(stream);
  return poisoned();
}

}  // namespace emulator

CUstream_st::CUstream_st() {
  std::lock_guard lock(emulator::streams().mutex);
  emulator::streams().all.insert(this);
}
CUstream_st::~CUstream_st() {
  std::lock_guard lock(emulator::streams().mutex);
  emulator::run_pending(this);
  emulator::streams().all.erase(this);
}

CUDA_API const char* cairnEmulatorMessage() { return emulator::last_message.c_str(); }
/// Makes a context usable again after a fault. Not part of NVIDIA's interface: a real card needs a new
/// process.
CUDA_API void cairnEmulatorClear() {
  std::lock_guard lock(emulator::mutex);
  emulator::first_fault = CUDA_SUCCESS;
  emulator::last_message.clear();
}
