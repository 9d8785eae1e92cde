// Streams, events, graphs, launches. Work runs when it is submitted, in the order of its submission.
#include <chrono>
#include <cstring>

#include "../machine/cluster.h"
#include "counts.h"
#include "state.h"

using namespace emulator;

namespace {

CUresult run_all(const std::vector<Work>& nodes) {
  for (const Work& node : nodes)
    if (CUresult code = node()) return code;
  return CUDA_SUCCESS;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string name_shape(const std::array<u32, 3>& shape) {
  return std::to_string(shape[0]) + "×" + std::to_string(shape[1]) + "×" + std::to_string(shape[2]);
}

// The grid is cut into clusters, without a remainder.
CUresult check_clusters(const std::string& name, const Launch& launch) {
  const auto &of = launch.cluster, &grid = launch.grid;
  std::string shape = name_shape(of);
  u64 blocks = u64(of[0]) * of[1] * of[2];
  if (!blocks || blocks > kMaxClusterBlocks)
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, name + " has clusters of " + shape + " blocks; at most " +
                                                     std::to_string(kMaxClusterBlocks) + " are possible");
  if (grid[0] % of[0] || grid[1] % of[1] || grid[2] % of[2])
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE,
        name + " is launched with a grid of " + name_shape(grid) + " blocks, which clusters of " + shape +
            " do not divide");
  if (blocks > 1 && Limits::get().major < 9)
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, name + " has clusters, which this card does not have");
  return CUDA_SUCCESS;
}

CUresult check_launch(const CUfunc_st& function, const Launch& launch) {
  const Limits& limits = Limits::get();
  const std::string& name = function.code.kernel;
  u64 threads = u64(launch.threads[0]) * launch.threads[1] * launch.threads[2];
  u32 max_threads = function.code.max_threads ? function.code.max_threads : limits.threads;
  if (!threads || threads > max_threads || launch.threads[2] > 64)
    return fail(CUDA_ERROR_INVALID_VALUE, name + " is launched with " + std::to_string(threads) +
                                              " threads a block; at most " + std::to_string(max_threads));
  if (!launch.grid[0] || !launch.grid[1] || !launch.grid[2] || launch.grid[0] > 0x7fffffff ||
      launch.grid[1] > 65535 || launch.grid[2] > 65535)
    return fail(CUDA_ERROR_INVALID_VALUE,
        name + " is launched with a grid of " + std::to_string(launch.grid[0]) + "×" +
            std::to_string(launch.grid[1]) + "×" + std::to_string(launch.grid[2]) + " blocks");
  u32 shared = function.code.shared_bytes + launch.dynamic_shared;
  if (shared > function.shared_allowed)
    return fail(CUDA_ERROR_INVALID_VALUE,
        name + " is launched with " + std::to_string(shared) + " bytes of shared memory; allowed are " +
            std::to_string(function.shared_allowed) + " (cuFuncSetAttribute raises it to " +
            std::to_string(limits.shared_opt_in) + ")");
  return check_clusters(name, launch);
}

}  // namespace

CUresult launch_kernel(CUfunction function, Launch launch, CUstream stream, void** params, void** extra) {
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (extra) return fail(CUDA_ERROR_NOT_SUPPORTED, "a launch takes parameters by kernelParams here");
  const auto &required = function->code.cluster, &asked = launch.cluster;
  if (required[0] && asked[0] && asked != required)
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, function->code.kernel + " has clusters of " +
                                                     name_shape(required) + " blocks, and is launched with " +
                                                     name_shape(asked));
  if (required[0]) launch.cluster = required;
  if (!launch.cluster[0]) launch.cluster = {1, 1, 1};
  launch.code = &function->code;
  if (CUresult code = check_launch(*function, launch)) return code;
  launch.params.resize(function->code.param_bytes);
  for (size_t k = 0; k < function->code.params.size(); ++k) {
    auto [at, size] = function->code.params[k];
    std::memcpy(launch.params.data() + at, params[k], size);
  }
  return submit(stream, [function, launch = std::move(launch)] {
    try {
      Counts counts;
      run_grid(launch, counts);
      add_counts(function->code.kernel, counts);
      return CUresult(CUDA_SUCCESS);
    } catch (const Fault& fault) {
      return poison(CUDA_ERROR_LAUNCH_FAILED, fault.what());
    }
  });
}

CUDA_API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes, CUstream stream,
    void** params, void** extra) {
  Launch launch{nullptr, {grid_x, grid_y, grid_z}, {threads_x, threads_y, threads_z}, shared_bytes, {}, {}};
  return launch_kernel(function, std::move(launch), stream, params, extra);
}

CUDA_API CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = new CUstream_st;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuStreamSynchronize(CUstream stream) { return run_pending(stream); }
CUDA_API CUresult cuStreamQuery(CUstream stream) { return run_pending(stream); }
CUDA_API CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return poisoned(); }

CUDA_API CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
  if (!stream || stream->capture) return CUDA_ERROR_INVALID_VALUE;
  stream->capture = std::make_unique<std::vector<Work>>();
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (!stream || !stream->capture) return CUDA_ERROR_INVALID_VALUE;
  *graph = new CUgraph_st{std::move(*stream->capture)};
  stream->capture.reset();
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = new CUgraphExec_st{std::make_shared<std::vector<Work>>(graph->nodes)};
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  // A graph may be destroyed before it has run.
  return submit(stream, [nodes = exec->nodes] { return run_all(*nodes); });
}
CUDA_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->pending++;
  event->stream = stream;
  return submit(stream, [event] {
    event->pending--;
    event->at_ms = now_ms();
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuEventSynchronize(CUevent event) { return run_pending(event->stream, event); }
CUDA_API CUresult cuEventQuery(CUevent event) { return run_pending(event->stream, event); }
CUDA_API CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
  if (from->at_ms < 0 || to->at_ms < 0) return CUDA_ERROR_INVALID_HANDLE;
  *ms = float(to->at_ms - from->at_ms);
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuEventElapsedTime_v2(float* ms, CUevent from, CUevent to) {
  return cuEventElapsedTime(ms, from, to);
}
CUDA_API CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
