#include "bulk_copies.h"

#include <algorithm>

#include "block.h"

namespace emulator {
namespace {

constexpr u32 kMaxTurns = 24;

/// Calls `move` with each run of bytes that is contiguous in shared memory: its address and its offset.
template <class Move>
void each_run(const BulkCopy& copy, Move move) {
  if (!copy.swizzle) return move(copy.shared, 0u, copy.bytes);
  u32 mask = copy.swizzle / 16 - 1;
  for (u32 offset = 0; offset < copy.bytes; offset += 16) {
    u32 at = copy.shared + offset;
    move(at ^ ((at >> 7 & mask) << 4), offset, 16u);
  }
}

}  // namespace

void BulkCopies::reset(u64 seed) {
  copies_.clear();
  groups_.clear();
  random_.seed(seed);
}

void BulkCopies::start(Block& block, BulkCopy copy) {
  for (const BulkPiece& piece : copy.pieces) {
    copy.low = std::min(copy.low, piece.at);
    copy.high = std::max(copy.high, piece.at + piece.bytes);
  }
  u32 thread = copy.warp->index * kLanes + copy.lane;
  if (copy.is_store) {
    copy.group = groups_[thread];
    block.shadow.start_bulk_store(*copy.warp, *copy.at, copy.lane, copy.shared, copy.bytes);
  } else {
    block.shadow.start_bulk_load(*copy.warp, *copy.at, copy.lane, copy.shared, copy.bytes);
  }
  ++block.tick;
  Copies mode = Settings::get().copies;
  copy.turns = mode == Copies::drawn ? 1 + u32(random_() % kMaxTurns) : 0;
  if (mode != Copies::at_once) {
    copies_.push_back(std::move(copy));
  } else if (copy.is_store) {
    read(copy);
    write(copy);
    copies_.push_back(std::move(copy));
  } else {
    load(block, copy);
  }
}

void BulkCopies::load(Block& block, BulkCopy& copy) {
  std::vector<std::byte> bytes(copy.bytes);
  for (const BulkPiece& piece : copy.pieces)
    std::memcpy(bytes.data() + piece.offset, reinterpret_cast<const void*>(piece.at), piece.bytes);
  each_run(copy, [&](u32 at, u32 offset, u32 size) {
    std::memcpy(block.shared + at, bytes.data() + offset, size);
  });
  Mbarrier& mbarrier = *block.mbarriers.find(copy.mbarrier);
  if (mbarrier.phase != copy.phase)
    fault(*copy.warp, *copy.at,
        "its " + std::to_string(copy.bytes) +
            " bytes are more than were expected: the phase completed without them, and " +
            mbarrier.describe());
  block.shadow.land_bulk_load(mbarrier.source, copy.shared, copy.bytes);
  block.mbarriers.complete_bytes(*copy.warp, *copy.at, mbarrier, copy.bytes);
}

void BulkCopies::read(BulkCopy& copy) {
  if (copy.is_read) return;
  copy.is_read = true;
  copy.held.resize(copy.bytes);
  each_run(copy, [&](u32 at, u32 offset, u32 size) {
    std::memcpy(copy.held.data() + offset, copy.warp->block->shared + at, size);
  });
}

void BulkCopies::write(BulkCopy& copy) {
  if (copy.is_written) return;
  copy.is_written = true;
  for (const BulkPiece& piece : copy.pieces)
    std::memcpy(reinterpret_cast<void*>(piece.at), copy.held.data() + piece.offset, piece.bytes);
}

void BulkCopies::wait(u32 thread, u32 pending, bool only_reads) {
  u32 groups = groups_[thread];
  std::erase_if(copies_, [&](BulkCopy& copy) {
    if (!copy.is_store || copy.warp->index * kLanes + copy.lane != thread) return false;
    if (copy.group + pending >= groups) return false;
    read(copy);
    if (!copy.is_awaited)
      copy.warp->block->shadow.end_bulk_store(*copy.warp, copy.lane, copy.shared, copy.bytes);
    copy.is_awaited = true;
    if (only_reads) return false;
    write(copy);
    return true;
  });
}

bool BulkCopies::completes_at(u32 mbarrier) const {
  return std::any_of(copies_.begin(), copies_.end(),
      [&](const BulkCopy& copy) { return !copy.is_store && copy.mbarrier == mbarrier; });
}

bool BulkCopies::land(Block& block, u32 mbarrier) {
  std::vector<BulkCopy> landing;
  std::erase_if(copies_, [&](BulkCopy& copy) {
    if (copy.is_store || copy.mbarrier != mbarrier) return false;
    landing.push_back(std::move(copy));
    return true;
  });
  for (BulkCopy& copy : landing) load(block, copy);
  return !landing.empty();
}

bool BulkCopies::land_awaited(Block& block) {
  bool landed = false;
  for (const Warp& warp : block.warps)
    if (warp.state == WarpState::polling && warp.awaited != kNone) landed |= land(block, warp.awaited);
  return landed;
}

void BulkCopies::turn(Block& block) {
  if (copies_.empty() || Settings::get().copies != Copies::drawn) return;
  std::vector<BulkCopy> landing;
  std::erase_if(copies_, [&](BulkCopy& copy) {
    if (!copy.turns || --copy.turns) return false;
    if (copy.is_store) {
      read(copy);
      write(copy);
      return false;
    }
    landing.push_back(std::move(copy));
    return true;
  });
  for (BulkCopy& copy : landing) load(block, copy);
}

bool BulkCopies::is_moving() const {
  return std::any_of(copies_.begin(), copies_.end(), [](const BulkCopy& copy) { return copy.turns > 0; });
}

void BulkCopies::finish() {
  for (BulkCopy& copy : copies_) {
    if (!copy.is_store)
      fault(*copy.warp, *copy.at, "the block ends while this bulk copy is in flight to its shared memory");
    if (!copy.is_awaited)
      fault(*copy.warp, *copy.at,
          "the block ends while this bulk store reads its shared memory: its thread has not waited by "
          "cp.async.bulk.wait_group");
    write(copy);
  }
  copies_.clear();
}

const BulkCopy* BulkCopies::find_conflict(u64 at, u32 size, bool writes) const {
  for (const BulkCopy& copy : copies_) {
    if ((!writes && !copy.is_store) || at >= copy.high || at + size <= copy.low) continue;
    for (const BulkPiece& piece : copy.pieces)
      if (at < piece.at + piece.bytes && at + size > piece.at) return &copy;
  }
  return nullptr;
}

}  // namespace emulator
