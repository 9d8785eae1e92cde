// The machine that runs decoded PTX. A warp is a file of registers of 32 lanes, a block is warps and shared
// memory. A block runs on one thread of the host.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../ptx/syntax.h"

namespace emulator {

constexpr int kLanes = 32;
using Mask = u32;
constexpr Mask kAllLanes = 0xffffffff;
constexpr u32 kNone = 0xffffffff;

// Generic addresses: each space other than global is a window above all host addresses.
constexpr u64 kSharedWindow = 1ull << 52, kLocalWindow = 1ull << 53, kParamWindow = 1ull << 54;
constexpr u64 kWindowSize = 1ull << 32;
// An address of shared memory in a cluster: the block's rank plus 1 above this bit, or 0 for the own block.
constexpr u32 kRankShift = 24;

struct Warp;
struct Block;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

/// One decoded instruction. Registers are byte offsets in a warp's register file, which also holds constants
/// and special registers.
struct Instruction {
  Handler run = nullptr;
  u32 to = kNone, a = kNone, b = kNone, c = kNone;
  u32 guard = kNone;
  Mask guard_flip = 0;
  u32 target = kNone;           // of a branch
  u32 list = 0, list_size = 0;  // in Code::lists: vectors, fragments, branch tables
  i64 offset = 0;               // of an address
  u64 detail = 0;               // what the handler defines
  u32 line = 0;
  bool is_wide_address = true;
};

enum Special {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kLaneEq,
  kLaneLt,
  kLaneLe,
  kLaneGt,
  kLaneGe,
  kDynamicShared,
  kTotalShared,
  kGridIdLow,
  kClusterIdX,
  kClusterIdY,
  kClusterIdZ,
  kNclusterIdX,
  kNclusterIdY,
  kNclusterIdZ,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterRank,
  kClusterSize,
  kSpecials
};

/// Mark of a register in Code::uses. Registers are multiples of 4.
constexpr u32 kWritten = 1;

struct Code {
  std::string kernel;
  std::vector<Instruction> instructions;
  std::vector<u32> lists;
  std::vector<std::string> names;    // opcodes, for reports
  std::vector<u32> uses;             // registers of each instruction; those that it writes have kWritten
  std::vector<u32> uses_end;         // by instruction: where its part of `uses` ends
  std::vector<std::byte> constants;  // the end of the register file, initialised once per warp
  u32 constants_at = 0;
  u32 special_at[kSpecials];  // registers of %tid.x …, kNone if unused
  u32 register_bytes = 0;
  u32 local_bytes = 0;
  u32 shared_bytes = 0;  // static
  u32 max_threads = 0, max_registers = 0, min_blocks = 0;  // directives; 0 if absent
  std::array<u32, 3> cluster{};                            // .reqnctapercluster; 0 if absent
  bool launches_dependents = false, waits_for_primary = false;  // has this form of griddepcontrol
  bool hands_over = false;  // has an atomic operation by which blocks can pass on what they wrote
  u32 param_bytes = 0;
  std::vector<std::pair<u32, u32>> params;  // offset, size
};

/// Lanes of a warp with the same program counter.
struct Group {
  u32 pc;
  Mask lanes;
  bool is_parked;  // at an instruction that waits for other lanes
};

enum class WarpState : u8 { ready, at_barrier, at_cluster_barrier, needs_registers, polling, done };

struct AsyncCopy {
  u32 lane, group, to, size;
  std::array<std::byte, 16> bytes;
};

/// A wgmma whose group is still pending: descriptors of its operands, and whether it accumulates.
struct GroupMatmul {
  const Instruction* at;
  u64 a, b;
  bool accumulates;
  u32 group;
  std::vector<u32> fragment;  // A, if it is in registers: register r of lane l at r · 32 + l
};

struct Warp {
  Block* block = nullptr;
  std::byte* registers = nullptr;
  const Code* code = nullptr;
  u32 index = 0;
  Mask present = 0;  // lanes with a thread
  Mask exited = 0;
  Mask active = 0;  // lanes of the running group
  Mask mask = 0;    // active lanes whose guard holds for the current instruction
  u32 pc = 0;       // of the next instruction during execution
  u32 merge_pc = kNone;
  WarpState state = WarpState::ready;
  std::vector<Group> waiting;
  u32 barrier = 0;
  const Instruction* barrier_instruction = nullptr;
  Mask barrier_lanes = 0;
  u32 awaited = kNone;  // the mbarrier whose phase a failed wait asked for
  u32 awaited_parity = 0;
  std::vector<AsyncCopy> copies;
  std::array<u32, kLanes> committed{};
  std::vector<GroupMatmul> matmuls;
  u32 product_groups = 0, finished_groups = 0;
  // By the place of a register, in units of 64 bytes: the last group whose products use it, plus 1.
  std::vector<u32> product_registers;
  std::map<u32, std::vector<float>> saved_sums;  // by the first register of the accumulators
  u32 group_steps = 0;     // instructions of whole warpgroups so far
  u32 register_limit = 0;  // of a thread
  bool has_arrived = false;  // at the cluster's barrier, without having waited
  u32 cluster_phase = 0;     // in which it arrived
  std::byte* local = nullptr;
  Mask carries = 0;  // of add.cc and its kind
  u64 executed = 0;

  template <class T>
  T* at(u32 offset) const {
    return reinterpret_cast<T*>(registers + offset);
  }
  Mask& predicate(u32 offset) const { return *reinterpret_cast<Mask*>(registers + offset); }
  u32 list(const Instruction& i, u32 index) const { return code->lists[i.list + index]; }
  Mask alive() const { return present & ~exited; }

  /// Splits the running group: `lanes` branch to `target`, the others continue.
  void branch(Mask lanes, u32 target);
  /// Lanes of the running group end.
  void exit(Mask lanes);
  /// True if every lane of `wanted` runs this instruction. Otherwise the group waits for them. A fault if
  /// some lane can never arrive.
  bool gather(const Instruction& i, Mask wanted, const char* what);
  /// Switches to the group with the lowest program counter.
  void regroup();
  void park();
  void run();
};

/// Something that a card would do wrong, silently or not.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Faults if an instruction uses registers of a wgmma in flight.
void check_products(const Warp& warp, const Instruction& i);
[[noreturn]] void fault(const Warp& warp, const Instruction& i, const std::string& what);
std::string list_lanes(Mask lanes);

}  // namespace emulator
