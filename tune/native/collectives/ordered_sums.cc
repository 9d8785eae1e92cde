#include <algorithm>
#include <cstring>

#include "transport.h"

namespace cairn::collectives {

namespace {

// 4 MiB at a time: large enough that waiting for the others costs little, small enough for the near caches.
constexpr size_t kChunk = size_t(1) << 20;

/// Walks through several buffers as if they were one.
class Cursor {
 public:
  explicit Cursor(const std::vector<Floats>& buffers) : buffers_(buffers) {}

  size_t total() const {
    size_t count = 0;
    for (const Floats& buffer : buffers_) count += buffer.count;
    return count;
  }

  /// Calls `copy(at, numbers, count)` for the parts of the next `count` numbers.
  template <class Copy>
  void next(size_t count, Copy&& copy) {
    for (size_t done = 0; done < count;) {
      const size_t part = std::min(count - done, buffers_[buffer_].count - at_);
      copy(done, buffers_[buffer_].data + at_, part);
      done += part;
      at_ += part;
      if (at_ == buffers_[buffer_].count) buffer_++, at_ = 0;
    }
  }

 private:
  const std::vector<Floats>& buffers_;
  size_t buffer_ = 0, at_ = 0;
};

}  // namespace

OrderedSums::OrderedSums(Transport& transport) : transport_(transport) {}

void OrderedSums::add(const std::vector<Floats>& buffers, bool is_first) {
  const size_t ranks = size_t(transport_.ranks());
  Cursor cursor(buffers);
  const size_t total = cursor.total();
  size_t at = 0;
  for (size_t done = 0; done < total;) {
    const size_t count = std::min(kChunk, total - done), slice = (count + ranks - 1) / ranks;
    chunk_.resize(slice * ranks);
    slices_.resize(chunk_.size());
    cursor.next(count, [&](size_t i, const float* from, size_t n) {
      std::memcpy(chunk_.data() + i, from, n * sizeof(float));
    });
    std::fill(chunk_.begin() + std::ptrdiff_t(count), chunk_.end(), 0.0f);
    transport_.all_to_all(reinterpret_cast<const char*>(chunk_.data()),
        reinterpret_cast<char*>(slices_.data()), slice * sizeof(float));
    sums_.resize(std::max(sums_.size(), at + slice));
    float* const sums = sums_.data() + at;
    if (is_first) std::memcpy(sums, slices_.data(), slice * sizeof(float));
    for (size_t r = is_first ? 1 : 0; r < ranks; r++) {
      const float* const part = slices_.data() + r * slice;
      for (size_t i = 0; i < slice; i++) sums[i] += part[i];
    }
    at += slice;
    done += count;
  }
}

void OrderedSums::take(const std::vector<Floats>& buffers) {
  const size_t ranks = size_t(transport_.ranks());
  Cursor cursor(buffers);
  const size_t total = cursor.total();
  size_t at = 0;
  for (size_t done = 0; done < total;) {
    const size_t count = std::min(kChunk, total - done), slice = (count + ranks - 1) / ranks;
    chunk_.resize(slice * ranks);
    if (at + slice > sums_.size()) throw std::runtime_error("there are fewer sums than numbers");
    transport_.all_gather(reinterpret_cast<const char*>(sums_.data() + at),
        reinterpret_cast<char*>(chunk_.data()), slice * sizeof(float));
    cursor.next(count, [&](size_t i, float* to, size_t n) {
      std::memcpy(to, chunk_.data() + i, n * sizeof(float));
    });
    at += slice;
    done += count;
  }
}

}  // namespace cairn::collectives
