// Addresses of the lanes of one access: where they are, whether they may be there, what they cost.
#pragma once
#include "../machine/memory.h"
#include "lanes.h"

namespace emulator {

enum class Where : u8 { global, shared, local, param, generic };

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

/// A fault unless every lane's bytes lie in one allocation and at a multiple of their size.
void check_global(Warp& w, const Instruction& i, const Addresses& addresses, u32 size);
void check_shared(Warp& w, const Instruction& i, const Addresses& addresses, u32 size);
/// Where a lane's local bytes are on the host.
std::byte* local_at(Warp& w, const Instruction& i, u32 lane, u64 at, u32 size);

/// Passes over the banks that lanes take for `size` bytes each: in phases of 128 bytes.
void count_shared(Counts& counts, Mask mask, const Addresses& addresses, u32 size, bool is_matrix);
void count_global(Counts& counts, Mask mask, const Addresses& addresses, u32 size);

/// The window that a generic address of the warp lies in; a fault where lanes differ.
Where find_window(const Warp& w, const Instruction& i, const Addresses& addresses);

/// .global, .shared and so on of an opcode; generic where it names none.
Where take_space(Parts& parts);
void add_space_ops(DecodeTable& table);

std::string hex(u64 value);

}  // namespace emulator
