// The rooms that kernels work in, kept from step to step.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "call.h"
#include "memory.h"

namespace cairn {

class Workspace {
 public:
  explicit Workspace(int threads) : rooms_(size_t(threads) + 1) {}

  void* shared(int slot, size_t bytes) { return rooms_[0][size_t(slot)].get(bytes); }
  void* local(int thread, int slot, size_t bytes) { return rooms_[size_t(thread) + 1][size_t(slot)].get(bytes); }
  // What the rooms take of the system's memory.
  size_t bytes() const {
    size_t sum = 0;
    for (auto& slots : rooms_) for (auto& slot : slots) sum += allocated_bytes(slot.size());
    return sum;
  }

 private:
  std::vector<std::array<Scratch, kRoomSlots>> rooms_;
};

}  // namespace cairn
