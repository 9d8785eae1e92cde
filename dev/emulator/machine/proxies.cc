// The part of the shadow that mbarriers and the asynchronous proxy need: which bytes bulk copies write and
// read.
#include "block.h"

namespace emulator {

void Shadow::check_proxy(const Touch& touch, const Warp& warp, const Instruction& i, const char* verb) {
  if (touch.writer & kAsyncWriter || clocks_->is_fenced(touch.writer, touch.write_time)) return;
  fault(warp, i,
      std::string("the asynchronous proxy ") + verb + " shared bytes that " +
          name_thread(warp, touch.writer / kLanes, touch.writer % kLanes) +
          " wrote without a fence.proxy.async after it");
}

void Shadow::read_async(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32) {
    check_read(touch, warp, i, lane);
    check_proxy(touch, warp, i, "reads");
  });
}

void Shadow::start_bulk_load(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) {
    Touch before = touch;
    check_write(touch, warp, i, lane, byte);
    check_proxy(before, warp, i, "overwrites");
    touch.flags |= kInFlight | kBulk;
  });
}

void Shadow::land_bulk_load(u32 source, u32 at, u32 size) {
  u32 time = clocks_->land();
  visit(at, size, [&](Touch& touch, u32) {
    touch.flags &= u8(~(kInFlight | kBulk));
    touch.writer = u16(kAsyncWriter | source);
    touch.write_time = time;
    touch.read_warps = 0;
  });
}

void Shadow::start_bulk_store(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  read_async(warp, i, lane, at, size);
  visit(at, size, [&](Touch& touch, u32) { touch.flags |= kBulkRead; });
  pending_reads_.push_back({at, size, warp.index * kLanes + lane, i.line});
}

void Shadow::end_bulk_store(const Warp& warp, u32 lane, u32 at, u32 size) {
  u32 thread = warp.index * kLanes + lane;
  auto found = std::find_if(pending_reads_.begin(), pending_reads_.end(), [&](const PendingRead& read) {
    return read.at == at && read.size == size && read.thread == thread;
  });
  if (found != pending_reads_.end()) pending_reads_.erase(found);
  visit(at, size, [&](Touch& touch, u32) { mark_read(touch, warp, lane); });
}

void Shadow::init_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at) {
  visit(at, 8, [&](Touch& touch, u32 byte) {
    check_write(touch, warp, i, lane, byte);
    touch.flags |= kMbarrier;
  });
}

void Shadow::use_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at) {
  visit(at, 8, [&](Touch& touch, u32) {
    u32 writer = touch.writer, id = id_of(warp);
    bool is_mine = writer == id * kLanes + lane;
    if (!is_mine && !clocks_->has_seen(id, lane, writer / kLanes, writer, touch.write_time))
      fault(warp, i,
          "lane " + std::to_string(lane) + " uses an mbarrier whose initialisation by " +
              name_thread(warp, writer / kLanes, writer % kLanes) + " no barrier has made visible");
    mark_read(touch, warp, lane);
  });
}

void Shadow::end_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at) {
  visit(at, 8, [&](Touch& touch, u32 byte) {
    touch.flags &= u8(~kMbarrier);
    check_write(touch, warp, i, lane, byte, "invalidates an mbarrier");
  });
}

}  // namespace emulator
