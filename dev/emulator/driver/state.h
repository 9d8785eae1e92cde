// State shared by the driver's functions: the last fault, the card's limits, modules, capturing streams.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../machine/block.h"
#include "api.h"

namespace emulator {

struct Limits {
  int major = 8, minor = 0;
  int processors = 4;
  /// Equal cards. A process uses one of them, so they share the memory that is counted.
  int cards = 1;
  u32 threads = 1024;
  u32 shared = 48 * 1024, shared_opt_in = 163 * 1024;
  static const Limits& get();
};

/// Records an error, prints it to stderr, and returns the code. A fault is sticky: as with a card's context,
/// every later call fails.
CUresult fail(CUresult code, const std::string& what);
CUresult poison(CUresult code, const std::string& what);
CUresult poisoned();

/// An operation of a stream. It runs at once, or becomes a node of the graph that the stream captures. With
/// CAIRN_EMULATOR_STREAMS=late it runs when the host waits for it.
using Work = std::function<CUresult()>;
CUresult submit(CUstream stream, Work work);
/// Runs the pending operations of a stream, up to the last recording of an event if there is one.
CUresult run_pending(CUstream stream, const CUevent_st* until = nullptr);
/// The same of all streams, for calls that wait for the whole card.
CUresult run_all_pending();

}  // namespace emulator

struct CUfunc_st {
  CUmodule module;
  emulator::Code code;
  emulator::u32 shared_allowed = 48 * 1024;
};

/// Launches a kernel with the clusters of `launch`, or with those of its .reqnctapercluster if that has none.
CUresult launch_kernel(
    CUfunction function, emulator::Launch launch, CUstream stream, void** params, void** extra);

struct CUmod_st {
  emulator::Module ptx;
  std::vector<std::pair<std::string, std::pair<CUdeviceptr, size_t>>> globals;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUstream_st {
  std::unique_ptr<std::vector<emulator::Work>> capture;
  std::deque<emulator::Work> pending;
  CUstream_st();
  ~CUstream_st();
};
struct CUevent_st {
  double at_ms = -1;
  /// Recordings that have not run yet, and their stream.
  int pending = 0;
  CUstream stream = nullptr;
};
struct CUgraph_st {
  std::vector<emulator::Work> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<emulator::Work>> nodes;
};

/// The full message of the last error. Not part of NVIDIA's interface.
CUDA_API const char* cairnEmulatorMessage();
