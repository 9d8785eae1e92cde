#include "shadow.h"

namespace emulator {

void Shadow::reset(u32 bytes, u32 warps) {
  words_.assign((bytes + 3) / 4, Touch{});
  bytes_.clear();
  known_.assign(size_t(warps) * warps, 1);
  warps_ = columns_ = warps;
  sources_ = 0;
  time_ = 1;
  thread_known_.assign(warps, {});
  lane_known_.clear();
  fenced_.assign(size_t(warps) * kLanes, 0);
  init_fenced_ = fenced_;
  pending_reads_.clear();
}

void Shadow::sync_warp(u32 warp) {
  known_[warp * columns_ + warp] = ++time_;
  join_lanes(warp);
}

void Shadow::sync_warps(Mask warps) {
  ++time_;
  std::vector<u32> seen(warps_ + sources_, 0);
  std::map<u32, u32> threads;
  for (u32 w = 0; w < warps_; ++w) {
    if (!(warps >> w & 1)) continue;
    join_lanes(w);
    for (u32 v = 0; v < seen.size(); ++v) seen[v] = std::max(seen[v], known(w, v));
    for (auto [thread, time] : thread_known_[w]) threads[thread] = std::max(threads[thread], time);
  }
  for (u32 w = 0; w < warps_; ++w) {
    if (!(warps >> w & 1)) continue;
    for (u32 v = 0; v < seen.size(); ++v)
      known_[w * columns_ + v] = v < warps_ && warps >> v & 1 ? time_ : seen[v];
    thread_known_[w] = threads;
  }
}

std::string Shadow::name_thread(u32 warp, u32 lane, u32 of_warp) const {
  std::string text = warp == of_warp ? "the same warp" : "warp " + std::to_string(warp);
  return lane < kLanes ? text + " lane " + std::to_string(lane) : text;
}

void Shadow::report_taken(
    const Touch& touch, const Warp& warp, const Instruction& i, const char* verb) const {
  if (touch.flags & kMbarrier)
    fault(warp, i, std::string(verb) + " of an mbarrier, which mbarrier.inval has not released");
  fault(warp, i,
      std::string(verb) + (touch.flags & kBulk ? " whose bulk copy is in flight"
                                               : " whose cp.async is in flight"));
}

bool Shadow::is_ordered(const Warp& warp, u32 lane, u32 agent, u32 thread, u32 time) const {
  if (time < known(warp.index, agent)) return true;
  auto sees = [&](const std::map<u32, u32>& threads) {
    auto found = threads.find(thread);
    return found != threads.end() && time < found->second;
  };
  if (sees(thread_known_[warp.index])) return true;
  auto mine = lane_known_.find(warp.index * kLanes + lane);
  if (mine == lane_known_.end()) return false;
  const Clock& clock = mine->second;
  return (agent < clock.times.size() && time < clock.times[agent]) || sees(clock.threads);
}

void Shadow::check_writer(
    const Touch& touch, const Warp& warp, const Instruction& i, u32 lane, const char* verb) {
  if (touch.writer == kNoWriter || touch.writer == warp.index * kLanes + lane) return;
  u32 agent = agent_of(touch.writer);
  if (touch.write_time < known(warp.index, agent)) return;
  std::string start = "race: lane " + std::to_string(lane) + " " + verb;
  if (touch.writer & kAsyncWriter) {
    if (!is_ordered(warp, lane, agent, kNone, touch.write_time))
      fault(warp, i, start + " of a bulk copy without a wait for its mbarrier");
    return;
  }
  if (!is_ordered(warp, lane, agent, touch.writer, touch.write_time))
    fault(warp, i,
        start + " that " + name_thread(agent, touch.writer % kLanes, warp.index) +
            (agent == warp.index ? " wrote since the last bar.warp.sync or barrier"
                                 : " wrote since the last barrier"));
}

void Shadow::mark_read(Touch& touch, u32 warp, u32 lane) {
  u32 bit = 1u << warp;
  if (touch.read_time != time_) {
    // Earlier readers that this one has synchronised with can be dropped. The others keep the older time,
    // which may hide a race but never reports a false one.
    Mask kept = 0;
    for (Mask readers = touch.read_warps; readers; readers &= readers - 1) {
      u32 reader = u32(__builtin_ctz(readers));
      if (touch.read_time >= known(warp, reader)) kept |= 1u << reader;
    }
    touch.read_warps = kept;
    if (!kept) touch.read_time = time_;
  }
  if (touch.read_warps && (touch.read_warps != bit || touch.read_lane != lane)) touch.read_lane = kLanes;
  else touch.read_lane = u8(lane);
  touch.read_warps |= bit;
}

void Shadow::check_read(Touch& touch, const Warp& warp, const Instruction& i, u32 lane) {
  if (touch.flags & (kInFlight | kMbarrier)) report_taken(touch, warp, i, "reads shared bytes");
  check_writer(touch, warp, i, lane, "reads shared bytes");
  mark_read(touch, warp.index, lane);
}

void Shadow::check_write(
    Touch& touch, const Warp& warp, const Instruction& i, u32 lane, u32 at, const char* verb) {
  if (touch.flags & (kInFlight | kMbarrier)) report_taken(touch, warp, i, verb);
  if (touch.flags & kBulkRead) {
    for (const PendingRead& read : pending_reads_)
      if (at >= read.at && at < read.at + read.size)
        fault(warp, i,
            std::string(verb) + " that the bulk store of line " + std::to_string(read.line) +
                " still reads: its thread has not waited by cp.async.bulk.wait_group");
    touch.flags &= u8(~kBulkRead);
  }
  check_writer(touch, warp, i, lane, verb);
  for (u32 readers = touch.read_warps; readers; readers &= readers - 1) {
    u32 reader = u32(__builtin_ctz(readers));
    bool is_me = reader == warp.index && touch.read_lane == lane;
    if (is_me || touch.read_time < known(warp.index, reader)) continue;
    u32 thread = touch.read_lane < kLanes ? reader * kLanes + touch.read_lane : kNone;
    if (!is_ordered(warp, lane, reader, thread, touch.read_time))
      fault(warp, i,
          "race: lane " + std::to_string(lane) + " " + verb + " that " +
              name_thread(reader, touch.read_lane, warp.index) +
              (reader == warp.index ? " reads since the last bar.warp.sync or barrier"
                                    : " reads since the last barrier"));
  }
  touch.writer = u16(warp.index * kLanes + lane);
  touch.write_time = time_;
  touch.read_warps = 0;
  touch.flags &= u8(~kAtomic);
}

void Shadow::read(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32) { check_read(touch, warp, i, lane); });
}

void Shadow::check_proxy(const Touch& touch, const Warp& warp, const Instruction& i, const char* verb) {
  if (touch.writer & kAsyncWriter || touch.write_time < fenced_[touch.writer]) return;
  fault(warp, i,
      std::string("the asynchronous proxy ") + verb + " shared bytes that " +
          name_thread(touch.writer / kLanes, touch.writer % kLanes, warp.index) +
          " wrote without a fence.proxy.async after it");
}

void Shadow::read_async(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32) {
    check_read(touch, warp, i, lane);
    check_proxy(touch, warp, i, "reads");
  });
}

void Shadow::write(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) { check_write(touch, warp, i, lane, byte); });
}

void Shadow::atomic(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) {
    if (touch.flags & kAtomic && touch.write_time == time_) return;
    check_write(touch, warp, i, lane, byte);
    touch.flags |= kAtomic;
  });
}

void Shadow::start_copy(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) {
    check_write(touch, warp, i, lane, byte);
    touch.flags |= kInFlight;
  });
}

void Shadow::land_copy(u32 warp, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32) {
    touch.flags &= u8(~kInFlight);
    touch.writer = u16(warp * kLanes + lane);
    touch.write_time = time_;
    touch.read_warps = 0;
  });
}

}  // namespace emulator
