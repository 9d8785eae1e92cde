// cuTensorMapEncodeTiled: checks the rules of NVIDIA's driver, and names the one that a call breaks.
#include "../machine/memory.h"
#include "../machine/tensor_map.h"
#include "state.h"

using namespace emulator;

namespace {

// By CUtensorMapDataType: unsigned and signed integers, f16, f32, f64, bf16. The rest is refused.
constexpr u8 kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
// By CUtensorMapSwizzle.
constexpr u16 kSwizzles[] = {0, 32, 64, 128};

struct Request {
  unsigned type, dimensions;
  u64 at;
  const u64 *sizes, *strides;
  const u32 *tile, *steps;
  unsigned interleave, swizzle, fill;
};

std::string of_dimension(const char* what, u64 value, unsigned dimension) {
  return std::string(what) + " of dimension " + std::to_string(dimension) + " is " + std::to_string(value);
}

/// What the emulator leaves out. Empty if it does the request.
std::string find_unsupported(const Request& r) {
  if (r.type >= std::size(kElementBytes)) return "data type " + std::to_string(r.type);
  if (r.interleave) return "interleaved layouts";
  if (r.swizzle >= std::size(kSwizzles)) return "swizzle " + std::to_string(r.swizzle);
  if (r.fill) return "another fill than zeros";
  for (unsigned d = 1; d < r.dimensions; ++d)
    if (r.steps[d] != 1) return of_dimension("elementStrides", r.steps[d], d) + ", not 1";
  if (r.swizzle && r.tile[0] * kElementBytes[r.type] < kSwizzles[r.swizzle])
    return "rows of a tile that are shorter than the swizzle";
  return "";
}

/// The rule that a request breaks. Empty if there is none.
std::string find_broken_rule(const Request& r) {
  if (r.at % 16) return "globalAddress " + std::to_string(r.at) + " is not a multiple of 16";
  u64 inner = u64(r.tile[0]) * (r.type < std::size(kElementBytes) ? kElementBytes[r.type] : 1);
  for (unsigned d = 0; d < r.dimensions; ++d) {
    if (!r.sizes[d] || r.sizes[d] > 1ull << 32)
      return of_dimension("globalDim", r.sizes[d], d) + ", not 1 to 2^32";
    if (!r.tile[d] || r.tile[d] > 256) return of_dimension("boxDim", r.tile[d], d) + ", not 1 to 256";
    if (d && (!r.steps[d] || r.steps[d] > 8))
      return of_dimension("elementStrides", r.steps[d], d) + ", not 1 to 8";
    if (d + 1 == r.dimensions) continue;
    if (r.strides[d] % 16 || r.strides[d] >= 1ull << 40)
      return of_dimension("globalStrides", r.strides[d], d) + ", not a multiple of 16 below 2^40";
  }
  if (inner % 16) return "a row of the tile has " + std::to_string(inner) + " bytes, not a multiple of 16";
  if (r.swizzle && r.swizzle < std::size(kSwizzles) && inner > kSwizzles[r.swizzle])
    return "a row of the tile has " + std::to_string(inner) + " bytes, more than the swizzle of " +
           std::to_string(kSwizzles[r.swizzle]);
  return "";
}

TensorMap make_map(const Request& r) {
  TensorMap map;
  map.at = r.at;
  map.serial = DeviceMemory::get().find(r.at).serial;
  map.dimensions = u8(r.dimensions);
  map.element_bytes = kElementBytes[r.type];
  map.swizzle = kSwizzles[r.swizzle];
  for (unsigned d = 0; d < r.dimensions; ++d) {
    map.last[d] = u32(r.sizes[d] - 1);
    map.tile[d] = u16(r.tile[d]);
    if (d + 1 < r.dimensions) map.strides[d] = r.strides[d];
  }
  return map;
}

}  // namespace

CUDA_API CUresult cuTensorMapEncodeTiled(void* to, unsigned type, unsigned dimensions, void* at,
    const unsigned long long* sizes, const unsigned long long* strides, const unsigned* tile,
    const unsigned* steps, unsigned interleave, unsigned swizzle, unsigned /*promotion*/, unsigned fill) {
  auto refuse_call = [](CUresult code, const std::string& what) {
    return fail(code, "cuTensorMapEncodeTiled: " + what);
  };
  if (reinterpret_cast<u64>(to) % 64)
    return refuse_call(CUDA_ERROR_INVALID_VALUE, "the tensor map is not aligned to 64 bytes");
  if (!dimensions || dimensions > kMaxDimensions)
    return refuse_call(
        CUDA_ERROR_INVALID_VALUE, "tensorRank is " + std::to_string(dimensions) + ", not 1 to 5");
  std::vector<u64> sizes_of(sizes, sizes + dimensions), strides_of(strides, strides + dimensions - 1);
  Request request{type, dimensions, reinterpret_cast<u64>(at), sizes_of.data(), strides_of.data(), tile,
      steps, interleave, swizzle, fill};
  if (std::string rule = find_broken_rule(request); !rule.empty())
    return refuse_call(CUDA_ERROR_INVALID_VALUE, rule);
  if (std::string what = find_unsupported(request); !what.empty())
    return refuse_call(CUDA_ERROR_NOT_SUPPORTED, "the emulator does not support " + what);
  TensorMap map = make_map(request);
  std::memset(to, 0, 128);
  std::memcpy(to, &map, sizeof map);
  return CUDA_SUCCESS;
}
