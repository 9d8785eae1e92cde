// Memory, copies, fills. A copy checks its device side against the allocations.
#include <cstdlib>
#include <cstring>

#include "../machine/memory.h"
#include "state.h"

using namespace emulator;

namespace {

CUresult check(const char* call, CUdeviceptr at, size_t bytes) {
  if (!bytes || DeviceMemory::get().find(at).contains(at, bytes)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, std::string(call) + ": " + std::to_string(bytes) + " bytes at " +
                                            std::to_string(at) + " are outside every allocation");
}

CUresult copy(CUstream stream, const char* call, void* to, const void* from, size_t bytes, bool checks_to,
    bool checks_from) {
  if (checks_to)
    if (CUresult code = check(call, reinterpret_cast<CUdeviceptr>(to), bytes)) return code;
  if (checks_from)
    if (CUresult code = check(call, reinterpret_cast<CUdeviceptr>(from), bytes)) return code;
  return submit(stream, [=] {
    std::memmove(to, from, bytes);
    return CUDA_SUCCESS;
  });
}

template <class T>
CUresult fill(CUstream stream, const char* call, CUdeviceptr at, T value, size_t count) {
  if (CUresult code = check(call, at, count * sizeof(T))) return code;
  return submit(stream, [=] {
    for (size_t k = 0; k < count; ++k) reinterpret_cast<T*>(at)[k] = value;
    return CUDA_SUCCESS;
  });
}

void* host(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

}  // namespace

CUDA_API CUresult cuMemAlloc_v2(CUdeviceptr* at, size_t bytes) {
  if (CUresult code = poisoned()) return code;
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  *at = DeviceMemory::get().allocate(bytes);
  return *at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUDA_API CUresult cuMemFree_v2(CUdeviceptr at) {
  if (!at) return CUDA_SUCCESS;
  run_all_pending();
  return DeviceMemory::get().release(at)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_VALUE, "cuMemFree of what is no allocation");
}
CUDA_API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = DeviceMemory::get().total();
  *free = *total - DeviceMemory::get().used();
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuMemHostAlloc(void** at, size_t bytes, unsigned) {
  *at = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*at) return CUDA_ERROR_OUT_OF_MEMORY;
  DeviceMemory::get().add(reinterpret_cast<u64>(*at), bytes);
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuMemAllocHost_v2(void** at, size_t bytes) { return cuMemHostAlloc(at, bytes, 0); }
CUDA_API CUresult cuMemFreeHost(void* at) {
  DeviceMemory::get().remove(reinterpret_cast<u64>(at));
  std::free(at);
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuMemHostRegister_v2(void* at, size_t bytes, unsigned) {
  DeviceMemory::get().add(reinterpret_cast<u64>(at), bytes);
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuMemHostUnregister(void* at) {
  DeviceMemory::get().remove(reinterpret_cast<u64>(at));
  return CUDA_SUCCESS;
}
CUDA_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* to, void* at, unsigned) {
  *to = reinterpret_cast<CUdeviceptr>(at);
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy(stream, "cuMemcpyHtoD", host(to), from, bytes, true, false);
}
CUDA_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(stream, "cuMemcpyDtoH", to, host(from), bytes, false, true);
}
CUDA_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(stream, "cuMemcpyDtoD", host(to), host(from), bytes, true, true);
}
CUDA_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
}
CUDA_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
}
CUDA_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr);
}
CUDA_API CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t count, CUstream stream) {
  return fill<u8>(stream, "cuMemsetD8", at, value, count);
}
CUDA_API CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count, CUstream stream) {
  return fill<u32>(stream, "cuMemsetD32", at, value, count);
}
CUDA_API CUresult cuMemsetD8_v2(CUdeviceptr at, unsigned char value, size_t count) {
  return cuMemsetD8Async(at, value, count, nullptr);
}
CUDA_API CUresult cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t count) {
  return cuMemsetD32Async(at, value, count, nullptr);
}
