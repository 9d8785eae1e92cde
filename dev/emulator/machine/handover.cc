#include "handover.h"

#include <mutex>
#include <unordered_map>

namespace emulator {
namespace {

struct Write {
  u32 block, release;  // the release of the block that comes after it
};

// One launch runs at a time.
std::mutex mutex;
// Pairs of bytes, because two blocks may write the halves of a word.
std::unordered_map<u64, Write> writes;
// When each release of a block took place, in the order of all blocks' releases.
std::unordered_map<u64, u64> times;
u64 now = 0;

u64 key_of(u32 block, u32 release) { return u64(block) << 32 | release; }

}  // namespace

void Handover::start(const Code& code, u32 block) {
  is_checked = code.hands_over;
  block_ = block;
  releases_ = 0;
  observed_ = acquired_ = 0;
}

void Handover::write(u64 at, u32 size) {
  std::lock_guard lock(mutex);
  for (u64 pair = at / 2; pair <= (at + size - 1) / 2; ++pair) writes[pair] = {block_, releases_};
}

void Handover::release() {
  if (!is_checked) return;
  std::lock_guard lock(mutex);
  times[key_of(block_, releases_++)] = ++now;
}

void Handover::observe() {
  if (!is_checked) return;
  std::lock_guard lock(mutex);
  observed_ = now;
}

void Handover::acquire() { acquired_ = observed_; }

u32 Handover::find_unordered(u64 at, u32 size) const {
  std::lock_guard lock(mutex);
  for (u64 pair = at / 2; pair <= (at + size - 1) / 2; ++pair) {
    auto write = writes.find(pair);
    if (write == writes.end() || write->second.block == block_) continue;
    auto time = times.find(key_of(write->second.block, write->second.release));
    if (time == times.end() || time->second > acquired_) return write->second.block + 1;
  }
  return 0;
}

void finish_handovers() {
  writes.clear();
  times.clear();
  now = 0;
}

}  // namespace emulator
