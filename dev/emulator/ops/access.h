// Addresses of one access by the lanes of a warp: their location, validity and cost.
#pragma once
#include "../machine/memory.h"
#include "lanes.h"

namespace emulator {

enum class Where : u8 { global, shared, cluster, local, param, generic };

struct Addresses {
  u64 at[kLanes];
};

inline Addresses lane_addresses(const Warp& w, const Instruction& i) {
  Addresses addresses;
  if (i.is_wide_address) {
    const u64* base = w.at<const u64>(i.a);
    for (int lane = 0; lane < kLanes; ++lane) addresses.at[lane] = base[lane] + u64(i.offset);
  } else {
    const u32* base = w.at<const u32>(i.a);
    for (int lane = 0; lane < kLanes; ++lane) addresses.at[lane] = base[lane] + u32(i.offset);
  }
  return addresses;
}

/// Faults unless every lane's bytes lie in one allocation and are aligned to their size.
void check_global(Warp& w, const Instruction& i, const Addresses& addresses, u32 size);
void check_shared(Warp& w, const Instruction& i, const Addresses& addresses, u32 size);
/// The block whose shared memory a lane's address names, which the lane may access.
Block& find_block(Warp& w, const Instruction& i, u32 lane, u64 at);
/// The address in the shared memory of that block.
inline u32 unmapped(u64 at) { return u32(at & ((1u << kRankShift) - 1)); }
enum class Access : u8 { read, write, atomic };
/// The host address of a lane's bytes in the shared memory of a block of the cluster, after its checks.
std::byte* cluster_at(Warp& w, const Instruction& i, u32 lane, u64 at, u32 size, Access access);
/// Whether a lane's address of shared memory names a block, as mapa makes it.
bool is_mapped(const Warp& w, const Addresses& addresses);
/// Before global memory is written: records it for the launch after this one.
void note_write(Warp& w, const Instruction& i, const Addresses& addresses, u32 size);
/// Faults if a launch that has not ended yet writes these bytes.
void check_unfinished(Warp& w, const Instruction& i, const Addresses& addresses, u32 size);
/// Records a write of global memory for the other blocks of the launch.
void note_own_write(Warp& w, const Addresses& addresses, u32 size);
/// Faults if another block of the launch wrote these bytes without handing them over.
void check_handover(Warp& w, const Instruction& i, const Addresses& addresses, u32 size);
/// fence and membar of memory, other than of proxies.
void decode_memory_fence(Decoder& decoder, const Statement& s, Instruction& i);
/// The host address of a lane's local bytes.
std::byte* local_at(Warp& w, const Instruction& i, u32 lane, u64 at, u32 size);

/// Counts bank conflicts: passes for `size` bytes per lane, in phases of 128 bytes.
void count_shared(Counts& counts, Mask mask, const Addresses& addresses, u32 size, bool is_matrix);
void count_global(Counts& counts, Mask mask, const Addresses& addresses, u32 size);

/// The window of a warp's generic address. Faults if lanes differ.
Where find_window(const Warp& w, const Instruction& i, const Addresses& addresses);

/// .global, .shared and so on of an opcode. Generic if it names none.
Where take_space(Parts& parts);
void add_space_ops(DecodeTable& table);

std::string hex(u64 value);

}  // namespace emulator
