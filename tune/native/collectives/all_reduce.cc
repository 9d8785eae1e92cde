#include <algorithm>
#include <cstring>

#include "transport.h"

namespace cairn::collectives {

namespace {
// 4 MiB at a time: large enough that waiting for the others costs little, small enough for the near caches.
constexpr size_t kChunk = size_t(1) << 20;
}  // namespace

AllReduce::AllReduce(Transport& transport) : transport_(transport) {}

void AllReduce::run(const std::vector<Floats>& buffers) {
  size_t total = 0;
  for (const Floats& buffer : buffers) total += buffer.count;
  // Position of the next number to send, and of the next sum to write back.
  size_t from = 0, from_at = 0, to = 0, to_at = 0;
  const auto pass = [&](size_t& buffer, size_t& at, size_t count, auto&& copy) {
    for (size_t done = 0; done < count;) {
      const size_t part = std::min(count - done, buffers[buffer].count - at);
      copy(chunk_.data() + done, buffers[buffer].data + at, part);
      done += part;
      at += part;
      if (at == buffers[buffer].count) buffer++, at = 0;
    }
  };
  for (size_t done = 0; done < total;) {
    const size_t count = std::min(kChunk, total - done);
    const size_t slice = (count + size_t(transport_.ranks()) - 1) / size_t(transport_.ranks());
    chunk_.resize(slice * size_t(transport_.ranks()));
    pass(from, from_at, count,
        [](float* own, const float* theirs, size_t n) { std::memcpy(own, theirs, n * sizeof(float)); });
    std::fill(chunk_.begin() + std::ptrdiff_t(count), chunk_.end(), 0.0f);
    reduce_chunk(slice);
    pass(to, to_at, count,
        [](const float* own, float* theirs, size_t n) { std::memcpy(theirs, own, n * sizeof(float)); });
    done += count;
  }
}

void AllReduce::reduce_chunk(size_t slice) {
  const int ranks = transport_.ranks();
  slices_.resize(chunk_.size());
  transport_.all_to_all(reinterpret_cast<const char*>(chunk_.data()), reinterpret_cast<char*>(slices_.data()),
      slice * sizeof(float));
  float* const sums = slices_.data();
  for (int r = 1; r < ranks; r++) {
    const float* const part = slices_.data() + size_t(r) * slice;
    for (size_t i = 0; i < slice; i++) sums[i] += part[i];
  }
  transport_.all_gather(reinterpret_cast<const char*>(sums), reinterpret_cast<char*>(chunk_.data()),
      slice * sizeof(float));
}

}  // namespace cairn::collectives
