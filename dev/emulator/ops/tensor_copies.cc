// Tensor maps: from the coordinates of a tile to addresses.
#include "bulk.h"

namespace emulator {

void check_bulk_range(Warp& w, const Instruction& i, u64 at, u64 bytes) {
  Range& range = w.block->range;
  if (!range.contains(at, bytes)) range = DeviceMemory::get().find(at);
  if (range.contains(at, bytes)) return;
  Range before = DeviceMemory::get().before(at);
  std::string near;
  if (before.to && at + bytes > before.to)
    near = ", " + std::to_string(at + bytes - before.to) + " bytes beyond the end of the allocation before";
  fault(w, i,
      "address outside every allocation: a bulk copy of " + std::to_string(bytes) + " bytes at " + hex(at) +
          near);
}

TensorMap read_tensor_map(Warp& w, const Instruction& i, u64 at) {
  if (at % 64) fault(w, i, "a tensor map is aligned to 64 bytes, this one is at " + hex(at));
  const std::byte* from = nullptr;
  if (at >= kParamWindow) {
    const auto& params = w.block->launch->params;
    u64 offset = at - kParamWindow;
    if (offset + 128 > params.size()) fault(w, i, "the tensor map is outside the parameters");
    from = params.data() + offset;
  } else if (at >= kSharedWindow) {
    fault(w, i,
        "a tensor map is a parameter (const __grid_constant__), or in global or constant memory, "
        "this one is in " +
            std::string(at < kLocalWindow ? "shared" : "local") + " memory");
  } else {
    if (!DeviceMemory::get().find(at).contains(at, 128))
      fault(w, i, "the tensor map at " + hex(at) + " is outside every allocation");
    from = reinterpret_cast<const std::byte*>(at);
  }
  TensorMap map;
  std::memcpy(&map, from, sizeof map);
  if (map.magic != kTensorMapMagic || !map.dimensions || map.dimensions > kMaxDimensions)
    fault(w, i, "cuTensorMapEncodeTiled did not make the 128 bytes that are used as a tensor map");
  if (map.serial && DeviceMemory::get().find(map.at).serial != map.serial)
    fault(w, i, "the tensor map is of memory at " + hex(map.at) + " that was freed");
  return map;
}

std::vector<BulkPiece> find_pieces(
    Warp& w, const Instruction& i, const TensorMap& map, const i32* coordinates) {
  std::vector<BulkPiece> pieces;
  i64 first = std::max<i64>(coordinates[0], 0);
  i64 end = std::min<i64>(i64(coordinates[0]) + map.tile[0], i64(map.last[0]) + 1);
  u32 rows = 1;
  for (u32 d = 1; d < map.dimensions; ++d) rows *= map.tile[d];
  for (u32 row = 0; row < rows && first < end; ++row) {
    u64 at = map.at + u64(first) * map.element_bytes;
    bool is_inside = true;
    for (u32 d = 1, rest = row; d < map.dimensions; ++d) {
      i64 here = i64(coordinates[d]) + rest % map.tile[d];
      rest /= map.tile[d];
      is_inside &= here >= 0 && here <= i64(map.last[d]);
      at += u64(here) * map.stride(d);
    }
    if (!is_inside) continue;
    u32 offset = u32(row * map.tile[0] + (first - coordinates[0])) * map.element_bytes;
    u32 bytes = u32(end - first) * map.element_bytes;
    check_bulk_range(w, i, at, bytes);
    pieces.push_back({at, offset, bytes});
  }
  return pieces;
}

}  // namespace emulator
