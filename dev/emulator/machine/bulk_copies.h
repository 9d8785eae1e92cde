// Bulk copies of a block between global and shared memory, from their issue until the wait for them.
//
// By default a copy moves its bytes as late as allowed: a load when every warp waits and one of them waits
// for its mbarrier, a store when its thread waits for its group. Other modes move them at once, or after a
// drawn number of turns of the scheduler. The checks are the same.
#pragma once
#include <random>

#include "machine.h"

namespace emulator {

/// Bytes of a copy that are contiguous in both memories. Those of a load that no piece has are zeros.
struct BulkPiece {
  u64 at;  // in global memory
  u32 offset, bytes;
};

struct BulkCopy {
  Warp* warp = nullptr;
  const Instruction* at = nullptr;
  u32 lane = 0;
  bool is_store = false;
  u32 shared = 0, bytes = 0;
  u32 swizzle = 0;  // bytes of its span, 0 for none
  std::vector<BulkPiece> pieces;
  u64 low = ~0ull, high = 0;  // of all pieces
  // These belong to a load.
  u32 mbarrier = 0;
  u64 phase = 0;
  // These belong to a store.
  u32 group = 0;
  bool is_read = false, is_written = false;  // its bytes in shared memory, and in global memory
  bool is_awaited = false;                   // its thread has waited for the read
  std::vector<std::byte> held;
  u32 turns = 0;
};

class BulkCopies {
 public:
  void reset(u64 seed);
  /// A store is of the block of its warp, a load of the block in whose shared memory it ends.
  void start(Block& block, BulkCopy copy);
  /// The stores of a thread since its last call become a group.
  void commit(u32 thread) { ++groups_[thread]; }
  /// Completes the stores of a thread except those in the newest `pending` groups, or only their reads.
  void wait(u32 thread, u32 pending, bool only_reads);
  bool completes_at(u32 mbarrier) const;
  /// Completes the loads of an mbarrier. False if there are none.
  bool land(Block& block, u32 mbarrier);
  /// The same for every mbarrier that a warp waits for.
  bool land_awaited(Block& block);
  /// One warp of the block has run. Moves the bytes of copies whose drawn number of turns has passed.
  void turn(Block& block);
  bool is_moving() const;
  /// The block ends.
  void finish();
  bool is_empty() const { return copies_.empty(); }
  /// A copy with which an access to global memory conflicts: a store to these bytes, or a load of bytes that
  /// the access writes. Null if there is none.
  const BulkCopy* find_conflict(u64 at, u32 size, bool writes) const;
  bool draw() { return random_() & 1; }

 private:
  std::vector<BulkCopy> copies_;
  std::map<u32, u32> groups_;  // committed, by thread
  std::mt19937_64 random_;

  void load(Block& block, BulkCopy& copy);
  void read(BulkCopy& copy);
  void write(BulkCopy& copy);
};

}  // namespace emulator
