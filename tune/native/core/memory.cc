#include "memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cairn {

namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t(2) << 20;

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

#if defined(__linux__)
bool is_large(size_t bytes) { return bytes >= 2 * kHugePage; }

// Whole huge pages: maps a little more, then unmaps the parts before and after the aligned range.
void* map_large(size_t bytes) {
  const size_t size = round_up(bytes, kHugePage);
  void* mapped = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* start = static_cast<char*>(mapped);
  char* aligned = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(start), kHugePage));
  if (aligned > start) munmap(start, size_t(aligned - start));
  munmap(aligned + size, size_t(start + kHugePage - aligned));
  // This is only advice: without huge pages the memory works too.
  madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}
#endif

}  // namespace

void* allocate_aligned(size_t bytes) {
#if defined(__linux__)
  if (is_large(bytes)) return map_large(bytes);
#endif
  const size_t size = round_up(bytes == 0 ? 1 : bytes, kCacheLine);
  void* data = std::aligned_alloc(kCacheLine, size);
  if (!data) throw std::bad_alloc();
  std::memset(data, 0, size);
  return data;
}

size_t allocated_bytes(size_t bytes) {
#if defined(__linux__)
  if (is_large(bytes)) return round_up(bytes, kHugePage);
#endif
  return round_up(bytes, kCacheLine);
}

void free_aligned(void* data, size_t bytes) {
  if (!data) return;
#if defined(__linux__)
  if (is_large(bytes)) {
    munmap(data, round_up(bytes, kHugePage));
    return;
  }
#endif
  std::free(data);
}

void* GrowingBuffer::get(size_t bytes) {
  if (bytes > size_) {
    free_aligned(data_, size_);
    data_ = nullptr;
    size_ = 0;
    data_ = allocate_aligned(bytes);
    size_ = bytes;
  }
  return data_;
}

}  // namespace cairn
