// The state of a running block: its warps, barriers, shared memory and the record of its last accesses.
#pragma once
#include <atomic>
#include <deque>
#include <random>

#include "bulk_copies.h"
#include "dependency.h"
#include "handover.h"
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
  int fp8_sum_bits = 0;                // significand of the sums of fp8 wgmma; 0 is f32's
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
  std::array<u32, 3> cluster{1, 1, 1};
};

struct Barrier {
  Mask arrived = 0;  // one bit per warp
  u32 threads = 0, expected = 0;
};

/// Instructions that all warps of a warpgroup must run in the same order, with the same values.
struct WarpGroup {
  struct Step {
    const Instruction* at;
    u64 a, b;
  };
  std::deque<Step> steps;  // those that a warp has not run yet
  u32 first = 0;           // number of steps[0]
};

/// The last access by another block of the cluster.
struct PeerAccess {
  const Warp* warp;
  const Instruction* at;
  u32 time;
};

class Cluster;

struct Block {
  const Launch* launch = nullptr;
  Cluster* cluster = nullptr;
  u32 rank = 0, first_warp = 0;  // in the cluster
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
  std::vector<WarpGroup> groups;
  u32 free_registers = 0;                                 // which setmaxnreg.dec has released
  std::unordered_map<u32, PeerAccess> peer_accesses;      // to this block's shared memory, by thread
  Dependency dependency;
  Handover handover;
  bool knows_peers = false;  // one of its warps has waited for all blocks of the cluster
  bool is_done = false;

  void start(const Launch& launch, std::array<u32, 3> coordinates, Cluster& cluster, u32 rank);
  /// Each warp in turn runs until it waits. Returns whether one made progress.
  bool run_round();
  /// Adds the warps that have not ended, and what each waits for.
  void describe_waiting(std::string& text, const Warp*& first) const;
  /// A warp arrives at a barrier with `expected` threads; 0 means all of the block.
  void arrive(Warp& warp, const Instruction& i, u32 barrier, u32 expected, bool waits);
  /// Faults unless all warps of the warpgroup run this instruction next, with the same `a` and `b`.
  void step_group(Warp& warp, const Instruction& i, u64 a, u64 b);
  /// Changes the registers of a warp's threads. False if it has to wait for another warp to release some.
  bool set_registers(Warp& warp, u32 count);

 private:
  std::vector<u32> order_;
  std::mt19937_64 random_;
  u64 executed_ = 0;

  void prepare(const Launch& launch);
  void start_warp(u32 index, u32 threads);
  void fill_specials(Warp& warp);
  void complete(Barrier& barrier, u32 index);
  void check_groups();
};

/// The number of a warp in its cluster.
inline u32 id_of(const Warp& warp) { return warp.block->first_warp + warp.index; }

void run_grid(const Launch& launch, Counts& counts);

}  // namespace emulator
