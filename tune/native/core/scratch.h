// Scratch memory of kernels, reused from step to step.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "call.h"
#include "memory.h"

namespace cairn {

class Scratch {
 public:
  explicit Scratch(int threads) : slots_(size_t(threads) + 1) {}

  void* shared(int slot, size_t bytes) { return slots_[0][size_t(slot)].get(bytes); }
  void* local(int thread, int slot, size_t bytes) {
    return slots_[size_t(thread) + 1][size_t(slot)].get(bytes);
  }
  // Bytes of system memory that the slots take.
  size_t bytes() const {
    size_t sum = 0;
    for (auto& slots : slots_)
      for (auto& slot : slots) sum += allocated_bytes(slot.size());
    return sum;
  }

 private:
  std::vector<std::array<GrowingBuffer, kScratchSlots>> slots_;
};

}  // namespace cairn
