#include "access.h"

#include <algorithm>
#include <cstdio>

namespace emulator {

std::string hex(u64 value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

namespace {

void check_alignment(Warp& w, const Instruction& i, const Addresses& addresses, u32 size, const char* what) {
  u64 low = 0;
  for (int lane = 0; lane < kLanes; ++lane) low |= w.mask >> lane & 1 ? addresses.at[lane] : 0;
  if (!(low & (size - 1))) return;
  each_lane(w.mask, [&](u32 lane) {
    if (addresses.at[lane] & (size - 1))
      fault(w, i,
          std::string("misaligned ") + what + " access: lane " + std::to_string(lane) + " asks for " +
              std::to_string(size) + " bytes at " + hex(addresses.at[lane]));
  });
}

void check_bulk_copies(const Warp& w, const Instruction& i, const Addresses& addresses, u32 size) {
  const std::string& name = w.code->names[size_t(&i - w.code->instructions.data())];
  bool writes = name.starts_with("st.") || name.starts_with("atom") || name.starts_with("red");
  each_lane(w.mask, [&](u32 lane) {
    const BulkCopy* copy = w.block->bulk_copies.find_conflict(addresses.at[lane], size, writes);
    if (!copy) return;
    fault(w, i,
        "lane " + std::to_string(lane) + (writes ? " writes" : " reads") + " global bytes that the bulk " +
            (copy->is_store ? "store" : "load") + " of line " + std::to_string(copy->at->line) +
            (copy->is_store ? " has yet to write: its thread has not waited by cp.async.bulk.wait_group"
                            : " has yet to read"));
  });
}

}  // namespace

void check_global(Warp& w, const Instruction& i, const Addresses& addresses, u32 size) {
  if (w.block->dependency.unfinished) check_unfinished(w, i, addresses, size);
  check_alignment(w, i, addresses, size, "global");
  Range& range = w.block->range;
  u64 low = ~0ull, high = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    bool takes_part = w.mask >> lane & 1;
    low = takes_part ? std::min(low, addresses.at[lane]) : low;
    high = takes_part ? std::max(high, addresses.at[lane]) : high;
  }
  if (!w.block->bulk_copies.is_empty()) check_bulk_copies(w, i, addresses, size);
  if (range.contains(low, 1) && range.contains(high, size)) return;
  each_lane(w.mask, [&](u32 lane) {
    u64 at = addresses.at[lane];
    if (range.contains(at, size)) return;
    Range found = DeviceMemory::get().find(at);
    if (!found.contains(at, size)) {
      Range before = DeviceMemory::get().before(at);
      std::string near;
      if (before.to)
        near =
            ", " + std::to_string(at + size - before.to) + " bytes beyond the end of the allocation before";
      fault(w, i,
          "address outside every allocation: lane " + std::to_string(lane) + " asks for " +
              std::to_string(size) + " bytes at " + hex(at) + near);
    }
    range = found;
  });
}

void check_shared(Warp& w, const Instruction& i, const Addresses& addresses, u32 size) {
  check_alignment(w, i, addresses, size, "shared");
  each_lane(w.mask, [&](u32 lane) {
    if (addresses.at[lane] + size > w.block->shared_bytes)
      fault(w, i,
          "address outside shared memory: lane " + std::to_string(lane) + " asks for " +
              std::to_string(size) + " bytes at " + std::to_string(addresses.at[lane]) + " of " +
              std::to_string(w.block->shared_bytes));
  });
}

std::byte* local_at(Warp& w, const Instruction& i, u32 lane, u64 at, u32 size) {
  if (at & (size - 1)) fault(w, i, "misaligned local access: " + std::to_string(at));
  if (at + size > w.code->local_bytes) fault(w, i, "address outside local memory: " + std::to_string(at));
  return w.local + size_t(w.code->local_bytes) * lane + at;
}

Where find_window(const Warp& w, const Instruction& i, const Addresses& addresses) {
  auto window = [](u64 at) {
    if (at < kSharedWindow) return Where::generic;
    return at < kLocalWindow ? Where::shared : at < kParamWindow ? Where::local : Where::param;
  };
  Where first = window(addresses.at[std::countr_zero(w.mask)]);
  each_lane(w.mask, [&](u32 lane) {
    if (window(addresses.at[lane]) != first) fault(w, i, "lanes name different spaces by generic addresses");
  });
  return first;
}

void count_shared(Counts& counts, Mask mask, const Addresses& addresses, u32 size, bool is_matrix) {
  u32 lanes = std::min(u32(kLanes), 128 / std::max(size, 4u));
  for (u32 first = 0; first < kLanes; first += lanes) {
    u32 words[32][32], used[32] = {}, passes = 0;
    for (u32 lane = first; lane < first + lanes; ++lane) {
      if (!(mask >> lane & 1)) continue;
      for (u64 word = addresses.at[lane] / 4; word <= (addresses.at[lane] + size - 1) / 4; ++word) {
        u32 bank = u32(word & 31);
        if (std::find(words[bank], words[bank] + used[bank], u32(word)) != words[bank] + used[bank]) continue;
        words[bank][used[bank]++] = u32(word);
        passes = std::max(passes, used[bank]);
      }
    }
    if (!passes) continue;
    (is_matrix ? counts.ldmatrix_phases : counts.shared_phases) += 1;
    (is_matrix ? counts.ldmatrix_passes : counts.shared_passes) += passes;
  }
}

void count_global(Counts& counts, Mask mask, const Addresses& addresses, u32 size) {
  u64 sectors[kLanes];
  u32 used = 0;
  each_lane(mask, [&](u32 lane) {
    u64 sector = addresses.at[lane] / 32;
    if (used && sectors[used - 1] == sector) return;
    sectors[used++] = sector;
  });
  std::sort(sectors, sectors + used);
  counts.global_sectors += u64(std::unique(sectors, sectors + used) - sectors);
  counts.global_bytes += u64(std::popcount(mask)) * size;
}

}  // namespace emulator
