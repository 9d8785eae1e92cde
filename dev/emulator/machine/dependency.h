// griddepcontrol: a launch may start before the launch before it has ended. Until it waits, it must not touch
// global memory that the other writes, and must not write.
#pragma once
#include <unordered_set>

#include "machine.h"

namespace emulator {

/// Global memory in sectors of 32 bytes.
using Sectors = std::unordered_set<u64>;

/// What a block knows of the launch before its own, and records for the launch after it.
struct Dependency {
  const Sectors* unfinished = nullptr;  // which earlier launches may still write; null after the wait
  bool records = false;                 // the launch lets the next one start early
  bool lets_start_unfinished = false;   // before it waited itself
  Sectors writes;

  void start(const Code& code);
  /// griddepcontrol.wait and griddepcontrol.launch_dependents.
  void wait() { unfinished = nullptr; }
  void launch_dependents() { lets_start_unfinished |= unfinished != nullptr; }
  /// Adds what the block has written to what its launch has.
  void finish();
};

/// Between two launches: what the next one must not touch before it waits.
void finish_dependencies(const Code& code);

}  // namespace emulator
