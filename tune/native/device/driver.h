// The CUDA driver, loaded on first use: nothing of CUDA is linked or included. Each function is looked up by
// its exported name, including its version suffix.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace cairn::device {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

// Numbers from cuda.h.
constexpr CUresult kSuccess = 0;
constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kNoDevice = 100;
constexpr int kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1;
constexpr int kFunctionMaxDynamicShared = 8;
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;
constexpr int kTensorMapBf16 = 9, kTensorMapSwizzle128 = 3, kTensorMapPromote128 = 2;
constexpr int kAttributeProcessors = 16, kAttributeMajor = 75, kAttributeMinor = 76, kAttributeShared = 97;

// Every function in use: name in the library, name here, parameters. All return a CUresult.
#define CAIRN_DRIVER(F)                                                                                      \
  F("cuInit", init, (unsigned flags))                                                                        \
  F("cuDriverGetVersion", driver_version, (int* version))                                                    \
  F("cuGetErrorName", error_name, (CUresult error, const char** text))                                       \
  F("cuGetErrorString", error_string, (CUresult error, const char** text))                                   \
  F("cuDeviceGetCount", device_count, (int* count))                                                          \
  F("cuDeviceGet", device_get, (CUdevice * device, int ordinal))                                             \
  F("cuDeviceGetName", device_name, (char* name, int bytes, CUdevice device))                                \
  F("cuDeviceGetAttribute", device_attribute, (int* value, int attribute, CUdevice device))                  \
  F("cuDeviceTotalMem_v2", device_memory, (size_t* bytes, CUdevice device))                                  \
  F("cuDevicePrimaryCtxRetain", context_retain, (CUcontext * context, CUdevice device))                      \
  F("cuDevicePrimaryCtxRelease_v2", context_release, (CUdevice device))                                      \
  F("cuCtxSetCurrent", context_use, (CUcontext context))                                                     \
  F("cuMemGetInfo_v2", memory_info, (size_t* free, size_t* total))                                           \
  F("cuMemAlloc_v2", memory_allocate, (CUdeviceptr * at, size_t bytes))                                      \
  F("cuMemFree_v2", memory_free, (CUdeviceptr at))                                                           \
  F("cuMemAllocHost_v2", host_allocate, (void** at, size_t bytes))                                           \
  F("cuMemFreeHost", host_free, (void* at))                                                                  \
  F("cuMemcpyHtoDAsync_v2", copy_up, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))      \
  F("cuMemcpyDtoHAsync_v2", copy_down, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))          \
  F("cuMemcpyDtoDAsync_v2", copy_across,                                                                     \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                                     \
  F("cuMemsetD8Async", fill, (CUdeviceptr at, unsigned char byte, size_t bytes, CUstream stream))            \
  F("cuModuleLoadDataEx", module_load,                                                                       \
      (CUmodule * module, const void* image, unsigned count, int* options, void** values))                   \
  F("cuModuleUnload", module_unload, (CUmodule module))                                                      \
  F("cuModuleGetFunction", module_function, (CUfunction * function, CUmodule module, const char* name))      \
  F("cuFuncSetAttribute", function_attribute, (CUfunction function, int attribute, int value))               \
  F("cuLaunchKernel", launch,                                                                                \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,             \
          unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** params,         \
          void** extra))                                                                                     \
  F("cuTensorMapEncodeTiled", tensor_map_encode,                                                             \
      (void* to, int type, unsigned rank, CUdeviceptr at, const uint64_t* sizes, const uint64_t* strides,    \
          const unsigned* box, const unsigned* steps, int interleave, int swizzle, int promotion, int fill)) \
  F("cuStreamCreate", stream_create, (CUstream * stream, unsigned flags))                                    \
  F("cuStreamDestroy_v2", stream_destroy, (CUstream stream))                                                 \
  F("cuStreamSynchronize", stream_wait, (CUstream stream))                                                   \
  F("cuStreamBeginCapture_v2", capture_begin, (CUstream stream, int mode))                                   \
  F("cuStreamEndCapture", capture_end, (CUstream stream, CUgraph * graph))                                   \
  F("cuGraphInstantiateWithFlags", graph_instantiate,                                                        \
      (CUgraphExec * instance, CUgraph graph, unsigned long long flags))                                     \
  F("cuGraphLaunch", graph_launch, (CUgraphExec instance, CUstream stream))                                  \
  F("cuGraphExecDestroy", graph_instance_destroy, (CUgraphExec instance))                                    \
  F("cuGraphDestroy", graph_destroy, (CUgraph graph))                                                        \
  F("cuEventCreate", event_create, (CUevent * event, unsigned flags))                                        \
  F("cuEventRecord", event_record, (CUevent event, CUstream stream))                                         \
  F("cuEventSynchronize", event_wait, (CUevent event))                                                       \
  F("cuEventElapsedTime", event_elapsed, (float* milliseconds, CUevent start, CUevent end))                  \
  F("cuEventDestroy_v2", event_destroy, (CUevent event))

struct Driver {
#define CAIRN_DRIVER_MEMBER(symbol, name, parameters) CUresult(*name) parameters = nullptr;
  CAIRN_DRIVER(CAIRN_DRIVER_MEMBER)
#undef CAIRN_DRIVER_MEMBER
};

// The driver at `path`; the system's is "libcuda.so.1". Opened and initialised once. Throws one sentence if
// it is missing, too old, or finds no card.
const Driver& driver_at(const std::string& path);

// Throws `doing: CUDA_ERROR_NAME, the driver's message` unless the call succeeded.
void check_driver(const Driver& driver, CUresult result, const char* doing);

}  // namespace cairn::device
