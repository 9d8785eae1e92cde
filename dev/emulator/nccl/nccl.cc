// A libnccl.so.2 for emulated cards, whose memory is the memory of their process: sends and receives of a
// group pass through a file in shared memory. As with NCCL, they match only inside of a group, and every
// rank calls the same groups in the same order.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "../../../tune/native/collectives/shared_memory.h"

#define NCCL_API extern "C" __attribute__((visibility("default")))

namespace {

using cairn::collectives::Transport;

constexpr int kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5;
constexpr double kPatienceSeconds = 600;

struct Id {
  char name[128];
};

struct Comm {
  std::unique_ptr<Transport> transport;
  int error = kSuccess;
};

struct Call {
  char* at;
  size_t bytes;
  int peer;
  Comm* comm;
};

thread_local bool in_group = false;
thread_local std::vector<Call> sends, receives;

const char* texts[] = {"no error", "unhandled cuda error", "unhandled system error", "internal error",
    "invalid argument", "invalid usage"};

// Every rank announces how much it sends to whom, so that a receive of another size is found.
int run_group() {
  if (sends.empty() && receives.empty()) return kSuccess;
  Comm& comm = *(sends.empty() ? receives : sends).front().comm;
  const size_t ranks = size_t(comm.transport->ranks());
  std::vector<uint64_t> sizes(ranks), all(ranks * ranks);
  for (const Call& call : sends) sizes[size_t(call.peer)] += call.bytes;
  comm.transport->all_gather(reinterpret_cast<const char*>(sizes.data()), reinterpret_cast<char*>(all.data()),
      ranks * sizeof(uint64_t));
  uint64_t longest = 0;
  for (const uint64_t size : all) longest = std::max(longest, size);
  std::vector<char> sent(longest * ranks), received(longest * ranks);
  std::vector<size_t> at(ranks);
  for (const Call& call : sends) {
    std::memcpy(sent.data() + size_t(call.peer) * longest + at[size_t(call.peer)], call.at, call.bytes);
    at[size_t(call.peer)] += call.bytes;
  }
  comm.transport->all_to_all(sent.data(), received.data(), longest);
  std::fill(at.begin(), at.end(), 0);
  const size_t rank = size_t(comm.transport->rank());
  for (const Call& call : receives) {
    const size_t peer = size_t(call.peer);
    std::memcpy(call.at, received.data() + peer * longest + at[peer], call.bytes);
    at[peer] += call.bytes;
  }
  for (size_t peer = 0; peer < ranks; peer++)
    if (at[peer] != all[peer * ranks + rank]) {
      std::fprintf(stderr, "emulated NCCL: rank %zu received %zu of %llu bytes from rank %zu\n", rank,
          at[peer], static_cast<unsigned long long>(all[peer * ranks + rank]), peer);
      return kInvalidUsage;
    }
  return kSuccess;
}

}  // namespace

NCCL_API const char* ncclGetErrorString(int code) {
  return code >= 0 && code <= kInvalidUsage ? texts[code] : "unknown result code";
}

NCCL_API int ncclGetUniqueId(Id* id) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::snprintf(id->name, sizeof id->name, "/cairn-nccl-%d-%ld", int(getpid()), now.tv_nsec);
  return kSuccess;
}

NCCL_API int ncclCommInitRank(Comm** comm, int ranks, Id id, int rank) {
  if (rank < 0 || rank >= ranks) return kInvalidArgument;
  // The first rank creates the file; its size is set before anyone maps it, and zeros are its initial state.
  const int file = shm_open(id.name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, off_t(cairn::collectives::group_bytes(ranks))) != 0) return kSystemError;
  try {
    auto joined = std::make_unique<Comm>();
    joined->transport = cairn::collectives::join_group(file, rank, ranks, kPatienceSeconds);
    joined->transport->barrier();
    if (rank == 0) shm_unlink(id.name);
    *comm = joined.release();
    return kSuccess;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emulated NCCL: %s\n", error.what());
    return kSystemError;
  }
}

NCCL_API int ncclCommDestroy(Comm* comm) {
  delete comm;
  return kSuccess;
}

// A waiting call of another thread still uses the communicator, so it is kept.
NCCL_API int ncclCommAbort(Comm* comm) {
  comm->transport->abort();
  return kSuccess;
}

NCCL_API int ncclCommGetAsyncError(Comm* comm, int* error) {
  *error = comm->error;
  return kSuccess;
}

NCCL_API int ncclGroupStart() {
  if (in_group) return kInvalidUsage;
  in_group = true;
  return kSuccess;
}

NCCL_API int ncclGroupEnd() {
  if (!in_group) return kInvalidUsage;
  in_group = false;
  int result = kSystemError;
  try {
    result = run_group();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emulated NCCL: %s\n", error.what());
  }
  sends.clear();
  receives.clear();
  return result;
}

NCCL_API int ncclSend(const void* at, size_t bytes, int, int peer, Comm* comm, void*) {
  if (!in_group) return kInvalidUsage;
  sends.push_back({static_cast<char*>(const_cast<void*>(at)), bytes, peer, comm});
  return kSuccess;
}

NCCL_API int ncclRecv(void* at, size_t bytes, int, int peer, Comm* comm, void*) {
  if (!in_group) return kInvalidUsage;
  receives.push_back({static_cast<char*>(at), bytes, peer, comm});
  return kSuccess;
}
