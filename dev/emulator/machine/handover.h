// Global memory that one block of a launch writes and another reads. The writer releases its writes by an
// atomic operation or a fence of the card's scope, after a barrier of its threads, and the reader acquires
// them in the same way. Checked for kernels that have an atomic operation other than cas.
#pragma once
#include "machine.h"

namespace emulator {

/// What a block has written, released and acquired.
class Handover {
 public:
  bool is_checked = false;

  void start(const Code& code, u32 block);
  void write(u64 at, u32 size);
  /// All that the block has written so far becomes visible to blocks that acquire it later.
  void release();
  /// After an atomic operation: the releases that it may have read.
  void observe();
  /// Releases that the block has observed become visible to it.
  void acquire();
  /// The block whose write of these bytes this one cannot see for sure, plus 1; 0 if there is none.
  u32 find_unordered(u64 at, u32 size) const;

 private:
  u32 block_ = 0, releases_ = 0;
  u64 observed_ = 0, acquired_ = 0;
};

/// Between two launches, which are ordered.
void finish_handovers();

}  // namespace emulator
