#include "shadow.h"

#include "block.h"

namespace emulator {

void Shadow::reset(const Block& block, Clocks& clocks) {
  block_ = &block;
  clocks_ = &clocks;
  words_.assign((block.shared_bytes + 3) / 4, Touch{});
  bytes_.clear();
  peer_reads_.clear();
  pending_reads_.clear();
}

std::string Shadow::name_thread(const Warp& to, u32 warp, u32 lane) const {
  u32 warps = u32(block_->warps.size()), block = warp / warps;
  std::string text = warp == id_of(to) ? "the same warp" : "warp " + std::to_string(warp % warps);
  if (lane < kLanes) text += " lane " + std::to_string(lane);
  return block == to.block->rank ? text : text + " of the cluster's block " + std::to_string(block);
}

void Shadow::report_race(const Warp& warp, const Instruction& i, u32 lane, const char* verb, u32 other_warp,
    u32 other_lane, const char* did) const {
  bool is_peer = other_warp / u32(block_->warps.size()) != warp.block->rank;
  const char* since = other_warp == id_of(warp) ? " since the last bar.warp.sync or barrier"
                      : is_peer                 ? " since the last barrier of the cluster"
                                                : " since the last barrier";
  fault(warp, i,
      "race: lane " + std::to_string(lane) + " " + verb + " that " +
          name_thread(warp, other_warp, other_lane) + " " + did + since);
}

void Shadow::report_taken(
    const Touch& touch, const Warp& warp, const Instruction& i, const char* verb) const {
  if (touch.flags & kMbarrier)
    fault(warp, i, std::string(verb) + " of an mbarrier, which mbarrier.inval has not released");
  fault(warp, i,
      std::string(verb) + (touch.flags & kBulk ? " whose bulk copy is in flight"
                                               : " whose cp.async is in flight"));
}

void Shadow::check_writer(
    const Touch& touch, const Warp& warp, const Instruction& i, u32 lane, const char* verb) {
  u32 id = id_of(warp);
  if (touch.writer == kNoWriter || touch.writer == id * kLanes + lane) return;
  u32 agent = agent_of(touch.writer);
  bool is_async = touch.writer & kAsyncWriter;
  u32 thread = is_async ? kNone : touch.writer;
  if (clocks_->has_seen(id, lane, agent, thread, touch.write_time)) return;
  if (is_async)
    fault(warp, i,
        "race: lane " + std::to_string(lane) + " " + verb +
            " of a bulk copy without a wait for its mbarrier");
  report_race(warp, i, lane, verb, agent, thread % kLanes, "wrote");
}

void Shadow::check_readers(
    const Touch& touch, const Warp& warp, const Instruction& i, u32 lane, const char* verb) {
  u32 id = id_of(warp);
  auto check = [&](u32 reader, u32 of_lane, u32 time) {
    if (reader == id && of_lane == lane) return;
    u32 thread = of_lane < kLanes ? reader * kLanes + of_lane : kNone;
    if (!clocks_->has_seen(id, lane, reader, thread, time))
      report_race(warp, i, lane, verb, reader, of_lane, "reads");
  };
  for (Mask readers = touch.read_warps; readers; readers &= readers - 1)
    check(block_->first_warp + u32(__builtin_ctz(readers)), touch.read_lane, touch.read_time);
  if (touch.flags & kReadByPeers)
    for (const PeerRead& read : peer_reads_.at(&touch)) check(read.warp, read.lane, read.time);
}

void Shadow::add_reader(Touch& touch, u32 warp, u32 lane) {
  std::vector<PeerRead>& reads = peer_reads_[&touch];
  touch.flags |= kReadByPeers;
  for (PeerRead& read : reads)
    if (read.warp == warp) {
      read.lane = read.lane == lane ? lane : u32(kLanes);
      read.time = clocks_->now();
      return;
    }
  reads.push_back({warp, lane, clocks_->now()});
}

void Shadow::mark_read(Touch& touch, const Warp& warp, u32 lane) {
  if (warp.block != block_) return add_reader(touch, id_of(warp), lane);
  u32 bit = 1u << warp.index;
  if (touch.read_time != clocks_->now()) {
    // Earlier readers that this one has synchronised with can be dropped. The others keep the older time,
    // which may hide a race but never reports a false one.
    Mask kept = 0;
    for (Mask readers = touch.read_warps; readers; readers &= readers - 1) {
      u32 reader = u32(__builtin_ctz(readers));
      if (touch.read_time >= clocks_->known(id_of(warp), block_->first_warp + reader)) kept |= 1u << reader;
    }
    touch.read_warps = kept;
    if (!kept) touch.read_time = clocks_->now();
  }
  if (touch.read_warps && (touch.read_warps != bit || touch.read_lane != lane)) touch.read_lane = kLanes;
  else touch.read_lane = u8(lane);
  touch.read_warps |= bit;
}

void Shadow::check_read(Touch& touch, const Warp& warp, const Instruction& i, u32 lane) {
  if (touch.flags & (kInFlight | kMbarrier)) report_taken(touch, warp, i, "reads shared bytes");
  check_writer(touch, warp, i, lane, "reads shared bytes");
  mark_read(touch, warp, lane);
}

void Shadow::check_write(Touch& touch, const Warp& warp, const Instruction& i, u32 lane, u32 at,
    const char* verb, bool is_atomic) {
  if (touch.flags & (kInFlight | kMbarrier)) report_taken(touch, warp, i, verb);
  if (touch.flags & kBulkRead) {
    for (const PendingRead& read : pending_reads_)
      if (at >= read.at && at < read.at + read.size)
        fault(warp, i,
            std::string(verb) + " that the bulk store of line " + std::to_string(read.line) +
                " still reads: its thread has not waited by cp.async.bulk.wait_group");
    touch.flags &= u8(~kBulkRead);
  }
  if (!(is_atomic && touch.flags & kAtomic)) check_writer(touch, warp, i, lane, verb);
  check_readers(touch, warp, i, lane, verb);
  if (touch.flags & kReadByPeers) peer_reads_.erase(&touch);
  touch.writer = u16(id_of(warp) * kLanes + lane);
  touch.write_time = clocks_->now();
  touch.read_warps = 0;
  touch.flags &= u8(~(kAtomic | kReadByPeers));
  if (is_atomic) touch.flags |= kAtomic;
}

void Shadow::read(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32) { check_read(touch, warp, i, lane); });
}

void Shadow::write(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) { check_write(touch, warp, i, lane, byte); });
}

void Shadow::atomic(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) {
    check_write(touch, warp, i, lane, byte, "overwrites shared bytes", true);
  });
}

void Shadow::start_copy(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) {
    check_write(touch, warp, i, lane, byte);
    touch.flags |= kInFlight;
  });
}

void Shadow::land_copy(const Warp& warp, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32) {
    touch.flags &= u8(~kInFlight);
    touch.writer = u16(id_of(warp) * kLanes + lane);
    touch.write_time = clocks_->now();
    touch.read_warps = 0;
  });
}

}  // namespace emulator
