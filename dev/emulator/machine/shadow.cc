#include "shadow.h"

#include <algorithm>

namespace emulator {

void Shadow::reset(u32 bytes, u32 warps) {
  words_.assign((bytes + 3) / 4, Touch{});
  bytes_.clear();
  known_.assign(size_t(warps) * warps, 1);
  warps_ = warps;
  time_ = 1;
}

void Shadow::sync_warp(u32 warp) { known_[warp * warps_ + warp] = ++time_; }

void Shadow::sync_warps(Mask warps) {
  ++time_;
  std::vector<u32> seen(warps_, 0);
  for (u32 w = 0; w < warps_; ++w)
    if (warps >> w & 1)
      for (u32 v = 0; v < warps_; ++v) seen[v] = std::max(seen[v], known(w, v));
  for (u32 w = 0; w < warps_; ++w)
    if (warps >> w & 1)
      for (u32 v = 0; v < warps_; ++v) known_[w * warps_ + v] = warps >> v & 1 ? time_ : seen[v];
}

template <class Check>
void Shadow::visit(u32 at, u32 size, Check check) {
  for (u32 end = at + size; at < end;) {
    Touch& word = words_[at / 4];
    bool is_whole = at % 4 == 0 && end - at >= 4;
    if (is_whole && !(word.flags & kSplit)) {
      check(word);
      at += 4;
      continue;
    }
    auto& parts = bytes_[at / 4];
    if (!(word.flags & kSplit)) parts.fill(word);
    word.flags |= kSplit;
    u32 last = std::min(end, (at / 4 + 1) * 4);
    for (; at < last; ++at) check(parts[at % 4]);
  }
}

std::string Shadow::name_thread(u32 warp, u32 lane, u32 of_warp) const {
  std::string text = warp == of_warp ? "the same warp" : "warp " + std::to_string(warp);
  return lane < kLanes ? text + " lane " + std::to_string(lane) : text;
}

void Shadow::check_read(Touch& touch, const Warp& warp, const Instruction& i, u32 lane) {
  u32 me = warp.index * kLanes + lane;
  if (touch.flags & kInFlight) fault(warp, i, "reads shared bytes whose cp.async is in flight");
  u32 writer = touch.writer / kLanes;
  if (touch.writer != 0xffff && touch.writer != me && touch.write_time >= known(warp.index, writer))
    fault(warp, i,
        "race: lane " + std::to_string(lane) + " reads shared bytes that " +
            name_thread(writer, touch.writer % kLanes, warp.index) +
            (writer == warp.index ? " wrote since the last bar.warp.sync or barrier"
                                  : " wrote since the last barrier"));
  u32 bit = 1u << warp.index;
  if (touch.read_time != time_) {
    // Earlier readers that this one has synchronised with can be dropped. The others keep the older time,
    // which may hide a race but never reports a false one.
    Mask kept = 0;
    for (Mask readers = touch.read_warps; readers; readers &= readers - 1) {
      u32 reader = u32(__builtin_ctz(readers));
      if (touch.read_time >= known(warp.index, reader)) kept |= 1u << reader;
    }
    touch.read_warps = kept;
    if (!kept) touch.read_time = time_;
  }
  if (touch.read_warps && (touch.read_warps != bit || touch.read_lane != lane)) touch.read_lane = kLanes;
  else touch.read_lane = u8(lane);
  touch.read_warps |= bit;
}

void Shadow::check_write(Touch& touch, const Warp& warp, const Instruction& i, u32 lane) {
  u32 me = warp.index * kLanes + lane;
  if (touch.flags & kInFlight) fault(warp, i, "overwrites shared bytes whose cp.async is in flight");
  u32 writer = touch.writer / kLanes;
  if (touch.writer != 0xffff && touch.writer != me && touch.write_time >= known(warp.index, writer))
    fault(warp, i,
        "race: lane " + std::to_string(lane) + " overwrites shared bytes that " +
            name_thread(writer, touch.writer % kLanes, warp.index) +
            (writer == warp.index ? " wrote since the last bar.warp.sync or barrier"
                                  : " wrote since the last barrier"));
  for (u32 readers = touch.read_warps; readers; readers &= readers - 1) {
    u32 reader = u32(__builtin_ctz(readers));
    bool is_me = reader == warp.index && touch.read_lane == lane;
    if (!is_me && touch.read_time >= known(warp.index, reader))
      fault(warp, i,
          "race: lane " + std::to_string(lane) + " overwrites shared bytes that " +
              name_thread(reader, touch.read_lane, warp.index) +
              (reader == warp.index ? " reads since the last bar.warp.sync or barrier"
                                    : " reads since the last barrier"));
  }
  touch.writer = u16(me);
  touch.write_time = time_;
  touch.read_warps = 0;
  touch.flags &= u8(~kAtomic);
}

void Shadow::read(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch) { check_read(touch, warp, i, lane); });
}

void Shadow::write(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch) { check_write(touch, warp, i, lane); });
}

void Shadow::atomic(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch) {
    if (touch.flags & kAtomic && touch.write_time == time_) return;
    check_write(touch, warp, i, lane);
    touch.flags |= kAtomic;
  });
}

void Shadow::start_copy(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch) {
    check_write(touch, warp, i, lane);
    touch.flags |= kInFlight;
  });
}

void Shadow::land_copy(u32 warp, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch) {
    touch.flags &= u8(~kInFlight);
    touch.writer = u16(warp * kLanes + lane);
    touch.write_time = time_;
    touch.read_warps = 0;
  });
}

}  // namespace emulator
