// Devices, contexts, names of errors.
#include <dlfcn.h>

#include <cstring>

#include "../machine/memory.h"
#include "state.h"

using namespace emulator;

namespace {
struct Named {
  CUresult code;
  const char *name, *text;
};
const Named errors[] = {{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        "operation failed due to a previous error during capture"},
    {CUDA_ERROR_INVALID_CLUSTER_SIZE, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"}};

bool is_ready = false;
CUcontext const the_context = reinterpret_cast<CUcontext>(0x1000);
thread_local CUcontext current_context = nullptr;

const Named* find_error(CUresult code) {
  for (const Named& error : errors)
    if (error.code == code) return &error;
  return nullptr;
}
}  // namespace

CUDA_API CUresult cuInit(unsigned) {
  is_ready = true;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuDeviceGetCount(int* count) {
  if (!is_ready) return CUDA_ERROR_NOT_INITIALIZED;
  *count = Limits::get().cards;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_ready) return CUDA_ERROR_NOT_INITIALIZED;
  if (ordinal < 0 || ordinal >= Limits::get().cards) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  if (length < 1) return CUDA_ERROR_INVALID_VALUE;
  std::strncpy(name, "Cairn emulator (no speed)", size_t(length) - 1);
  name[length - 1] = 0;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = DeviceMemory::get().total();
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice) {
  const Limits& limits = Limits::get();
  switch (attribute) {
    case 1:
    case 2:
    case 3:
      *value = attribute == 3 ? 64 : int(limits.threads);
      break;  // threads per block, x, y, z
    case 4:
      *value = 64;
      break;
    case 5:
      *value = 0x7fffffff;
      break;  // blocks of a grid
    case 6:
    case 7:
      *value = 65535;
      break;
    case 8:
      *value = int(limits.shared);
      break;
    case 9:
      *value = 65536;
      break;  // constant memory
    case 10:
      *value = kLanes;
      break;
    case 12:
      *value = 65536;
      break;  // registers per block
    case 13:
      *value = 1000000;
      break;  // clock, kHz
    case 16:
      *value = limits.processors;
      break;
    case 18:
      *value = 1;
      break;  // integrated
    case 33:
      *value = 0;
      break;  // PCI bus, device, domain
    case 34:
      *value = 0;
      break;
    case 50:
      *value = 0;
      break;
    case 39:
      *value = 2048;
      break;  // threads per processor
    case 41:
      *value = 1;
      break;  // unified addressing
    case 75:
      *value = limits.major;
      break;
    case 76:
      *value = limits.minor;
      break;
    case 81:
      *value = int(limits.shared_opt_in) + 1024;
      break;  // shared memory per processor
    case 82:
      *value = 65536;
      break;
    case 97:
      *value = int(limits.shared_opt_in);
      break;
    case 106:
      *value = 32;
      break;  // blocks per processor
    case 120:
      *value = limits.major >= 9;
      break;  // launches of clusters
    case 111:
      *value = 1024;
      break;  // shared memory reserved per block
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  if (!is_ready) return CUDA_ERROR_NOT_INITIALIZED;
  *context = the_context;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUDA_API CUresult cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current_context;
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuCtxSynchronize() { return run_all_pending(); }

CUDA_API CUresult cuGetErrorName(CUresult code, const char** name) {
  const Named* error = find_error(code);
  *name = error ? error->name : nullptr;
  return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUDA_API CUresult cuGetErrorString(CUresult code, const char** text) {
  const Named* error = find_error(code);
  *text = error ? error->text : nullptr;
  return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The newest form of a function has a name ending in _v2, if there is one.
CUDA_API CUresult cuGetProcAddress_v2(
    const char* name, void** function, int /*version*/, unsigned long long /*flags*/, int* status) {
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(cuInit), &here)) return CUDA_ERROR_UNKNOWN;
  void* library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *function = dlsym(library, (std::string(name) + "_v2").c_str());
  if (!*function) *function = dlsym(library, name);
  dlclose(library);
  if (status) *status = *function ? 0 : 1;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
