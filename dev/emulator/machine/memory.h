// Allocations of device memory. A device address is the host's address of the same bytes.
#pragma once
#include <map>
#include <shared_mutex>

#include "machine.h"

namespace emulator {

struct Range {
  u64 from = 0, to = 0;
  u64 serial = 0;  // differs for each allocation, also at the same address
  bool contains(u64 at, u64 size) const { return at >= from && at + size <= to; }
};

class DeviceMemory {
 public:
  static DeviceMemory& get();
  /// 0 if there is no room.
  u64 allocate(u64 bytes);
  bool release(u64 at);
  /// Registers foreign memory: variables of a module, pinned memory of the host.
  void add(u64 at, u64 bytes);
  void remove(u64 at);
  /// The allocation that contains an address. Empty if there is none.
  Range find(u64 at) const;
  /// The last allocation that starts at or before an address.
  Range before(u64 at) const;
  u64 total() const { return total_; }
  u64 used() const { return used_; }

 private:
  DeviceMemory();
  mutable std::shared_mutex mutex_;
  std::map<u64, Range> ranges_;  // by begin
  u64 total_, used_ = 0, serial_ = 0;
};

}  // namespace emulator
