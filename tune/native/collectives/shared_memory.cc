// Layout of the memory: a header, then one slot per rank.
//
// An operation moves its bytes in pieces of at most half a slot, and pieces alternate between the two halves.
// A rank writes its piece, announces it by counting up its own arrivals, waits for those of all others, and
// reads their pieces. It may then write the other half at once: whoever still reads the half before has not
// announced the next piece, and nobody writes that half again before it has.
#include "shared_memory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

namespace cairn::collectives {

namespace {

constexpr int kMaxRanks = 64;
constexpr size_t kHalf = size_t(1) << 20, kSlot = 2 * kHalf, kHeader = 8192;
/// Waits this often without sleeping. Longer would take the processor from the rank that is awaited.
constexpr int kSpins = 200;
/// Between two looks at the deadline.
constexpr long kSleepNanoseconds = 100'000'000;

struct Header {
  std::atomic<uint32_t> aborted;
  /// Counts all arrivals, for the futex.
  alignas(64) std::atomic<uint32_t> bell;
  struct alignas(64) Arrivals {
    std::atomic<uint64_t> count;
  } arrivals[kMaxRanks];
};
static_assert(sizeof(Header) <= kHeader);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("shared memory of ranks: ") + what + ": " + std::strerror(errno));
}

class SharedMemory : public Transport {
 public:
  SharedMemory(int file, int rank, int ranks, double timeout_seconds)
      : rank_(rank), ranks_(ranks), timeout_(timeout_seconds) {
    void* data = mmap(nullptr, group_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = errno;
    close(file);
    errno = error;
    if (data == MAP_FAILED) fail("cannot map it");
    memory_ = static_cast<char*>(data);
    arrived_ = header().arrivals[rank].count.load();
  }
  ~SharedMemory() override { munmap(memory_, group_bytes(ranks_)); }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void all_gather(const char* mine, char* all, size_t bytes) override {
    for (size_t at = 0; at < bytes; at += kHalf) {
      const size_t piece = std::min(kHalf, bytes - at);
      std::memcpy(half(rank_), mine + at, piece);
      arrive("all-gather");
      for (int r = 0; r < ranks_; r++) std::memcpy(all + size_t(r) * bytes + at, read_half(r), piece);
    }
  }

  void all_to_all(const char* sent, char* received, size_t bytes) override {
    const size_t most = kHalf / size_t(ranks_);
    for (size_t at = 0; at < bytes; at += most) {
      const size_t piece = std::min(most, bytes - at);
      for (int r = 0; r < ranks_; r++)
        std::memcpy(half(rank_) + size_t(r) * most, sent + size_t(r) * bytes + at, piece);
      arrive("all-to-all");
      for (int r = 0; r < ranks_; r++)
        std::memcpy(received + size_t(r) * bytes + at, read_half(r) + size_t(rank_) * most, piece);
    }
  }

  /// From memory to memory, without padding.
  void exchange(
      const std::vector<Bytes>& sent, const std::vector<Bytes>& received, size_t largest) override {
    const size_t most = kHalf / size_t(ranks_);
    const auto piece_of = [&](const Bytes& part, size_t at) {
      return part.count > at ? std::min(most, part.count - at) : 0;
    };
    for (size_t at = 0; at < largest; at += most) {
      for (int r = 0; r < ranks_; r++)
        if (const size_t piece = piece_of(sent[size_t(r)], at))
          std::memcpy(half(rank_) + size_t(r) * most, sent[size_t(r)].data + at, piece);
      arrive("all-to-all");
      for (int r = 0; r < ranks_; r++)
        if (const size_t piece = piece_of(received[size_t(r)], at))
          std::memcpy(received[size_t(r)].data + at, read_half(r) + size_t(rank_) * most, piece);
    }
  }

  void broadcast(char* data, size_t bytes, int root) override {
    for (size_t at = 0; at < bytes; at += kHalf) {
      const size_t piece = std::min(kHalf, bytes - at);
      if (rank_ == root) std::memcpy(half(rank_), data + at, piece);
      arrive("broadcast");
      if (rank_ != root) std::memcpy(data + at, read_half(root), piece);
    }
  }

  void barrier() override { arrive("barrier"); }

  void abort() override {
    header().aborted.store(1);
    ring();
  }

 private:
  Header& header() const { return *reinterpret_cast<Header*>(memory_); }
  char* slot(int rank, uint64_t arrivals) const {
    return memory_ + kHeader + size_t(rank) * kSlot + (arrivals % 2) * kHalf;
  }
  /// The half that this rank writes next, and the half of a rank that it reads after it has arrived.
  char* half(int rank) const { return slot(rank, arrived_ + 1); }
  char* read_half(int rank) const { return slot(rank, arrived_); }

  void ring() {
    header().bell.fetch_add(1);
#ifdef __linux__
    syscall(SYS_futex, &header().bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
#endif
  }

  void sleep_until_rung(uint32_t bell) {
    const timespec limit{0, kSleepNanoseconds};
#ifdef __linux__
    syscall(SYS_futex, &header().bell, FUTEX_WAIT, bell, &limit, nullptr, 0);
#else
    (void)bell, (void)limit;
    usleep(100);
#endif
  }

  std::string missing() const {
    std::string names;
    int count = 0;
    for (int r = 0; r < ranks_; r++) {
      if (header().arrivals[r].count.load() >= arrived_) continue;
      names += (count++ ? ", " : "") + std::to_string(r);
    }
    return std::string(count == 1 ? "rank " : "ranks ") + names;
  }

  void arrive(const char* operation) {
    header().arrivals[rank_].count.store(++arrived_);
    ring();
    const auto start = std::chrono::steady_clock::now();
    for (int spins = 0;; spins++) {
      const uint32_t bell = header().bell.load();
      bool all = true;
      for (int r = 0; r < ranks_ && all; r++) all = header().arrivals[r].count.load() >= arrived_;
      if (all) return;
      if (header().aborted.load())
        throw Aborted(std::string("ended while waiting for ") + missing() + " (" + operation + ")");
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (waited.count() > timeout_)
        throw Aborted(
            "waited " + std::to_string(int(timeout_)) + " s for " + missing() + " (" + operation + ")");
      if (spins >= kSpins) sleep_until_rung(bell);
    }
  }

  int rank_, ranks_;
  double timeout_;
  char* memory_ = nullptr;
  uint64_t arrived_ = 0;
};

}  // namespace

size_t group_bytes(int ranks) { return kHeader + size_t(ranks) * kSlot; }

int create_group(int ranks) {
  if (ranks < 1 || ranks > kMaxRanks)
    throw std::runtime_error("ranks must be between 1 and " + std::to_string(kMaxRanks) + ", got " +
                             std::to_string(ranks));
#ifdef __linux__
  // Inherited by the ranks, so without close-on-exec.
  const int file = memfd_create("cairn ranks", 0);
#else
  char path[] = "/tmp/cairn-ranks-XXXXXX";
  const int file = mkstemp(path);
  if (file >= 0) unlink(path);
#endif
  if (file < 0) fail("cannot create it");
  if (ftruncate(file, off_t(group_bytes(ranks))) != 0) {
    const int error = errno;
    close(file);
    errno = error;
    fail("cannot set its size");
  }
  return file;
}

std::unique_ptr<Transport> join_group(int file, int rank, int ranks, double timeout_seconds) {
  return std::make_unique<SharedMemory>(file, rank, ranks, timeout_seconds);
}

}  // namespace cairn::collectives
