// Exchanges between cards by NCCL, which is opened at run time. NCCL only moves bytes here: sums are computed
// by a program, in the order of ranks, because NCCL's own sums depend on the topology that it finds.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "card.h"

namespace cairn::device {

/// Names a group of ranks. Rank 0 creates it, and the others receive it by other means.
using NcclId = std::array<char, 128>;

/// Throws one sentence if the library is missing. `library` is its path, or empty for libnccl.so.2.
NcclId create_nccl_id(const std::string& library);

struct CardBytes {
  char* at = nullptr;
  size_t bytes = 0;
};

/// The ranks of a group, each with a card of its own.
class Communicator {
 public:
  /// Waits for all ranks.
  Communicator(std::shared_ptr<Card> card, const std::string& library, NcclId id, int rank, int ranks);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Sends `sent[r]` to rank r and receives `received[r]` from it, for all ranks at once; empty parts are
  /// left out. Complete when it returns. Throws if another rank failed or the group was aborted.
  void exchange(const std::vector<CardBytes>& sent, const std::vector<CardBytes>& received);
  /// Ends a waiting exchange of this rank. Callable from any thread.
  void abort();

 private:
  void check(int result, const char* doing) const;

  std::shared_ptr<Card> card_;
  const struct NcclLibrary& nccl_;
  void* comm_ = nullptr;
  std::atomic<bool> aborted_ = false;
};

}  // namespace cairn::device
