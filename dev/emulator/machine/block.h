// The state of a running block: its warps, barriers, shared memory and the record of its last accesses.
#pragma once
#include <atomic>
#include <random>

#include "bulk_copies.h"
#include "machine.h"
#include "mbarriers.h"
#include "memory.h"
#include "shadow.h"

namespace emulator {

/// When asynchronous copies move their bytes: as late as allowed, when issued, or at a drawn time between.
enum class Copies : u8 { late, at_once, drawn };

struct Settings {
  Copies copies = Copies::late;
  bool shuffles_warps = false;
  u64 seed = 0;
  bool counts = false;
  u64 instruction_limit = 1ull << 34;  // per block, so that an endless loop ends with a fault
  static const Settings& get();
};

struct Counts {
  u64 warp_instructions = 0, mma = 0;
  u64 shared_phases = 0, shared_passes = 0, ldmatrix_phases = 0, ldmatrix_passes = 0;
  u64 global_bytes = 0, global_sectors = 0;
  void add(const Counts& other);
};

struct Launch {
  const Code* code;
  std::array<u32, 3> grid, threads;
  u32 dynamic_shared;
  std::vector<std::byte> params;
};

struct Barrier {
  Mask arrived = 0;  // one bit per warp
  u32 threads = 0, expected = 0;
};

struct Block {
  const Launch* launch = nullptr;
  std::array<u32, 3> coordinates{};
  std::vector<Warp> warps;
  std::vector<std::byte> register_file, local_file;
  std::byte* shared = nullptr;
  u32 shared_bytes = 0;
  std::vector<std::byte> shared_storage;
  Shadow shadow;
  std::array<Barrier, 16> barriers;
  Mbarriers mbarriers;
  BulkCopies bulk_copies;
  Counts counts;
  Range range;   // the last allocation found
  u32 tick = 0;  // incremented by progress that a waiting warp makes, other than at a barrier

  void run(const Launch& launch, std::array<u32, 3> coordinates);
  /// A warp arrives at a barrier with `expected` threads; 0 means all of the block.
  void arrive(Warp& warp, const Instruction& i, u32 barrier, u32 expected, bool waits);

 private:
  void prepare(const Launch& launch);
  void start_warp(u32 index, u32 threads);
  void complete(Barrier& barrier, u32 index);
  [[noreturn]] void report_deadlock();
};

void run_grid(const Launch& launch, Counts& counts);

}  // namespace emulator
