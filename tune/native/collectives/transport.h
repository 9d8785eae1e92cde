// Collectives between processes. A transport moves bytes; sums are computed here, in the order of ranks, so
// that they have the same bits on every transport, at every speed, and in every run.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::collectives {

/// The group ended while a rank was waiting. `what` names the ranks that it was waiting for.
struct Aborted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Bytes {
  char* data;
  size_t count;
};

/// Every rank calls the same operations in the same order, one at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Part r of `all` becomes the `bytes` bytes of `mine` of rank r.
  virtual void all_gather(const char* mine, char* all, size_t bytes) = 0;
  /// Part r of `received` becomes part `rank()` of `sent` of rank r. A part has `bytes` bytes.
  virtual void all_to_all(const char* sent, char* received, size_t bytes) = 0;
  /// Part r of `received` becomes part `rank()` of `sent` of rank r, which has as many bytes. No part of any
  /// rank has more than `largest`.
  virtual void exchange(const std::vector<Bytes>& sent, const std::vector<Bytes>& received, size_t largest);
  /// The bytes of rank `root` replace those of all others.
  virtual void broadcast(char* data, size_t bytes, int root) = 0;
  virtual void barrier() = 0;
  /// Ends the group: present and later operations of every rank throw Aborted. Callable from any thread.
  virtual void abort() = 0;
  /// Leaves the group after the last operation. Without it, the end of the process counts as a failure.
  virtual void leave() {}
};

struct Floats {
  float* data;
  size_t count;
};

/// Sums of the numbers of several buffers over all ranks. Each rank receives one slice of everybody's
/// numbers, adds them from rank 0 up, and all ranks gather the sums: a rank sends and receives twice the size
/// of the buffers, as in a ring. Numbers may arrive in several rounds; the sums then are those of one rank
/// that adds the numbers of the first round in the order of ranks, then those of the second, and so on.
class OrderedSums {
 public:
  explicit OrderedSums(Transport& transport);
  /// Adds the numbers of a round. The first one discards earlier sums.
  void add(const std::vector<Floats>& buffers, bool is_first);
  /// Replaces the numbers by the sums.
  void take(const std::vector<Floats>& buffers);

 private:
  Transport& transport_;
  /// The sums of this rank's slices.
  std::vector<float> sums_;
  std::vector<float> chunk_, slices_;
};

}  // namespace cairn::collectives
