// cuLaunchKernelEx: a launch with attributes. Those that change what a kernel may do are checked, hints are
// accepted.
#include <algorithm>

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

CUresult take_attribute(const LaunchAttribute& attribute, Launch& launch) {
  switch (attribute.id) {
    case kIgnore:
    case kClusterScheduling:
    case kProgrammaticSerialization:  // launches run one after the other
    case kPriority:
      return CUDA_SUCCESS;
    case kClusterDimension:
      std::copy_n(attribute.value.cluster, 3, launch.cluster.begin());
      if (launch.cluster[0]) return CUDA_SUCCESS;
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cuLaunchKernelEx: a cluster of 0 blocks");
    default:
      return fail(CUDA_ERROR_NOT_SUPPORTED,
          "cuLaunchKernelEx: the emulator does not know the attribute " + std::to_string(attribute.id));
  }
}

}  // namespace

CUDA_API CUresult cuLaunchKernelEx(
    const LaunchConfig* config, CUfunction function, void** params, void** extra) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  const unsigned *grid = config->grid, *block = config->block;
  Launch launch{nullptr, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, config->shared_bytes,
      {}, {}};
  for (unsigned k = 0; k < config->count; ++k)
    if (CUresult code = take_attribute(config->attributes[k], launch)) return code;
  return launch_kernel(function, std::move(launch), config->stream, params, extra);
}
