#include "memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>

namespace emulator {

namespace {
// Guard pages before and after each allocation also stop wild accesses by the host.
constexpr u64 kPage = 4096;
u64 round_up(u64 bytes) { return (bytes + kPage - 1) / kPage * kPage; }
}  // namespace

DeviceMemory& DeviceMemory::get() {
  static DeviceMemory memory;
  return memory;
}

DeviceMemory::DeviceMemory() {
  const char* text = std::getenv("CAIRN_EMULATOR_MEMORY");
  total_ = text ? std::strtoull(text, nullptr, 10) : 8ull << 30;
}

u64 DeviceMemory::allocate(u64 bytes) {
  std::unique_lock lock(mutex_);
  if (!bytes || used_ + bytes > total_) return 0;
  void* mapped = mmap(
      nullptr, round_up(bytes) + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  u64 at = reinterpret_cast<u64>(mapped) + kPage;
  if (mprotect(reinterpret_cast<void*>(at), round_up(bytes), PROT_READ | PROT_WRITE)) {
    munmap(mapped, round_up(bytes) + 2 * kPage);
    return 0;
  }
  // NaN in every format, and an out-of-bounds index.
  std::memset(reinterpret_cast<void*>(at), 0xff, bytes);
  ranges_[at] = {at, at + bytes, ++serial_};
  used_ += bytes;
  return at;
}

bool DeviceMemory::release(u64 at) {
  std::unique_lock lock(mutex_);
  auto found = ranges_.find(at);
  if (found == ranges_.end()) return false;
  u64 bytes = found->second.to - at;
  ranges_.erase(found);
  used_ -= bytes;
  return munmap(reinterpret_cast<void*>(at - kPage), round_up(bytes) + 2 * kPage) == 0;
}

void DeviceMemory::add(u64 at, u64 bytes) {
  std::unique_lock lock(mutex_);
  ranges_[at] = {at, at + bytes, ++serial_};
}

void DeviceMemory::remove(u64 at) {
  std::unique_lock lock(mutex_);
  ranges_.erase(at);
}

Range DeviceMemory::before(u64 at) const {
  std::shared_lock lock(mutex_);
  auto above = ranges_.upper_bound(at);
  if (above == ranges_.begin()) return {};
  return (--above)->second;
}

Range DeviceMemory::find(u64 at) const {
  Range range = before(at);
  return range.contains(at, 1) ? range : Range{};
}

}  // namespace emulator
