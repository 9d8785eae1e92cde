// cuLaunchKernelEx: a launch with attributes. Those that change what a kernel may do are checked, hints are
// accepted.
#include "state.h"

using namespace emulator;

namespace {

// Numbers and layouts are those of NVIDIA's cuda.h.
enum : int {
  kIgnore = 0,
  kClusterDimension = 4,
  kClusterScheduling = 5,
  kProgrammaticSerialization = 6,
  kPriority = 8,
};

struct alignas(8) LaunchAttribute {
  int id;
  char pad[4];
  union {
    char all[64];
    unsigned cluster[3];
  } value;
};

struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned count;
};

CUresult check_attribute(const LaunchAttribute& attribute) {
  const unsigned* cluster = attribute.value.cluster;
  switch (attribute.id) {
    case kIgnore:
    case kClusterScheduling:
    case kProgrammaticSerialization:  // launches run one after the other
    case kPriority:
      return CUDA_SUCCESS;
    case kClusterDimension:
      if (cluster[0] == 1 && cluster[1] == 1 && cluster[2] == 1) return CUDA_SUCCESS;
      return fail(CUDA_ERROR_NOT_SUPPORTED,
          "cuLaunchKernelEx: the emulator runs clusters of one block, not of " + std::to_string(cluster[0]) +
              "×" + std::to_string(cluster[1]) + "×" + std::to_string(cluster[2]));
    default:
      return fail(CUDA_ERROR_NOT_SUPPORTED,
          "cuLaunchKernelEx: the emulator does not know the attribute " + std::to_string(attribute.id));
  }
}

}  // namespace

CUDA_API CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
    unsigned, CUstream, void**, void**);

CUDA_API CUresult cuLaunchKernelEx(
    const LaunchConfig* config, CUfunction function, void** params, void** extra) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned k = 0; k < config->count; ++k)
    if (CUresult code = check_attribute(config->attributes[k])) return code;
  return cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2], config->block[0],
      config->block[1], config->block[2], config->shared_bytes, config->stream, params, extra);
}
