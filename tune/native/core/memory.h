// Cache-line-aligned memory. Large blocks are mapped directly, on huge pages if the system has them.
#pragma once
#include <cstddef>

namespace cairn {

// Zeroed. Pages of a large block take memory only once they are touched. Throws std::bad_alloc.
void* allocate_aligned(size_t bytes);
// Actual size of a block of that many bytes, in whole cache lines or pages.
size_t allocated_bytes(size_t bytes);
// `bytes` must be the requested size.
void free_aligned(void* data, size_t bytes);

// A buffer that only grows, for an op's memory besides its tensors.
class GrowingBuffer {
 public:
  GrowingBuffer() = default;
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer() { free_aligned(data_, size_); }

  void* get(size_t bytes);
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cairn
