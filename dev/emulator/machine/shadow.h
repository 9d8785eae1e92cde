// Records the last access to each byte of a block's shared memory and pending asynchronous copies to it.
// Detects races: two accesses, at least one of them a write, by threads that no barrier, no bar.warp.sync and
// no mbarrier has ordered. The cluster's clocks know what is ordered. Words are kept whole, until an access
// smaller than a word splits them into bytes.
#pragma once
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "clocks.h"

namespace emulator {

struct Touch {
  u32 write_time = 0;
  u32 read_time = 0;
  u32 read_warps = 0;   // of the own block
  u16 writer = 0xffff;  // thread of the cluster, or kAsyncWriter; 0xffff for none
  u8 read_lane = 0;     // kLanes if several lanes have read
  u8 flags = 0;
};
constexpr u16 kNoWriter = 0xffff;
constexpr u16 kAsyncWriter = 0x8000;  // with the number of the mbarrier at which the bulk copy completed
enum TouchFlag : u8 {
  kInFlight = 1,
  kSplit = 2,
  kAtomic = 4,
  kBulk = 8,
  kMbarrier = 16,
  kBulkRead = 32,
  kReadByPeers = 64,
};

/// A read by a thread of another block of the cluster.
struct PeerRead {
  u32 warp, lane, time;
};

class Shadow {
 public:
  /// Of the shared memory of `block`.
  void reset(const Block& block, Clocks& clocks);
  void read(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void write(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  /// Atomic operations do not race with each other, only with plain accesses.
  void atomic(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void start_copy(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void land_copy(const Warp& warp, u32 lane, u32 at, u32 size);

  /// A read by the asynchronous proxy. It sees a thread's write only if that thread ran fence.proxy.async
  /// after it.
  void read_async(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void start_bulk_load(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void land_bulk_load(u32 source, u32 at, u32 size);
  void start_bulk_store(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  /// The thread that issued the store has waited until its bytes were read.
  void end_bulk_store(const Warp& warp, u32 lane, u32 at, u32 size);

  void init_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at);
  void use_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at);
  void end_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at);

 private:
  struct PendingRead {
    u32 at, size, thread, line;
  };
  std::vector<Touch> words_;
  std::unordered_map<u32, std::array<Touch, 4>> bytes_;
  std::unordered_map<const Touch*, std::vector<PeerRead>> peer_reads_;
  std::vector<PendingRead> pending_reads_;
  const Block* block_ = nullptr;
  Clocks* clocks_ = nullptr;

  template <class Check>
  void visit(u32 at, u32 size, Check check);
  u32 agent_of(u16 writer) const {
    return writer & kAsyncWriter ? clocks_->agent_of_source(writer & ~kAsyncWriter) : u32(writer) / kLanes;
  }
  void check_writer(const Touch& touch, const Warp& warp, const Instruction& i, u32 lane, const char* verb);
  void check_readers(const Touch& touch, const Warp& warp, const Instruction& i, u32 lane, const char* verb);
  void check_proxy(const Touch& touch, const Warp& warp, const Instruction& i, const char* verb);
  void check_read(Touch& touch, const Warp& warp, const Instruction& i, u32 lane);
  void check_write(Touch& touch, const Warp& warp, const Instruction& i, u32 lane, u32 at,
      const char* verb = "overwrites shared bytes", bool is_atomic = false);
  void mark_read(Touch& touch, const Warp& warp, u32 lane);
  void add_reader(Touch& touch, u32 warp, u32 lane);
  [[noreturn]] void report_taken(
      const Touch& touch, const Warp& warp, const Instruction& i, const char* verb) const;
  [[noreturn]] void report_race(const Warp& warp, const Instruction& i, u32 lane, const char* verb,
      u32 other_warp, u32 other_lane, const char* did) const;
  /// A thread of the cluster, for a message to one of its warps.
  std::string name_thread(const Warp& to, u32 warp, u32 lane) const;
};

template <class Check>
void Shadow::visit(u32 at, u32 size, Check check) {
  for (u32 end = at + size; at < end;) {
    Touch& word = words_[at / 4];
    bool is_whole = at % 4 == 0 && end - at >= 4;
    if (is_whole && !(word.flags & kSplit)) {
      check(word, at);
      at += 4;
      continue;
    }
    auto& parts = bytes_[at / 4];
    if (!(word.flags & kSplit)) {
      parts.fill(word);
      if (word.flags & kReadByPeers) {
        std::vector<PeerRead> reads = peer_reads_[&word];
        for (Touch& part : parts) peer_reads_[&part] = reads;
      }
    }
    word.flags |= kSplit;
    u32 last = std::min(end, (at / 4 + 1) * 4);
    for (; at < last; ++at) check(parts[at % 4], at);
  }
}

}  // namespace emulator
