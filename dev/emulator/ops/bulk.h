// Bulk copies as instructions.
#pragma once
#include "../machine/tensor_map.h"
#include "access.h"

namespace emulator {

/// cp.async.bulk after its first parts.
void decode_bulk(Decoder& decoder, const Statement& s, Instruction& i, Parts& parts);

/// The tensor map at a generic address. Faults if there is none.
TensorMap read_tensor_map(Warp& w, const Instruction& i, u64 at);

/// The pieces of a tile at these coordinates, in elements. Parts of it outside the tensor have none.
std::vector<BulkPiece> find_pieces(
    Warp& w, const Instruction& i, const TensorMap& map, const i32* coordinates);

/// Faults unless the bytes are in one allocation.
void check_bulk_range(Warp& w, const Instruction& i, u64 at, u64 bytes);

}  // namespace emulator
