// Open MPI and MPICH have the same functions but other handles: pointers to objects of the library in Open
// MPI, numbers in MPICH and what follows its ABI (Intel MPI, MVAPICH, Cray MPICH). All messages are bytes, so
// two handles are enough.
#include "mpi.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <dlfcn.h>

namespace cairn::collectives {

namespace {

using Handle = void*;
using Status = int;

/// MPICH's constants MPI_COMM_WORLD and MPI_BYTE.
constexpr uintptr_t kMpichWorld = 0x44000000, kMpichByte = 0x4c00010d;
constexpr int kThreadSerialized = 2;
/// Counts of MPI are int.
constexpr size_t kMaxBytes = size_t(1) << 30;

struct Library {
  void* handle = nullptr;
  Handle world = nullptr, byte = nullptr;
  Status (*init)(int*, char***, int, int*) = nullptr;
  Status (*initialized)(int*) = nullptr;
  Status (*finalize)() = nullptr;
  Status (*rank)(Handle, int*) = nullptr;
  Status (*size)(Handle, int*) = nullptr;
  Status (*all_gather)(const void*, int, Handle, void*, int, Handle, Handle) = nullptr;
  Status (*all_to_all)(const void*, int, Handle, void*, int, Handle, Handle) = nullptr;
  Status (*broadcast)(void*, int, Handle, int, Handle) = nullptr;
  Status (*barrier)(Handle) = nullptr;
  Status (*abort)(Handle, int) = nullptr;

  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(handle, name));
    if (!function) throw std::runtime_error(std::string("the MPI library has no function ") + name);
  }
};

/// Open MPI 4 and 5, MPICH 4 and 5.
constexpr const char* kNames[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so"};

void* open_library(const std::string& given) {
  // Open MPI loads its components as libraries that use its symbols.
  constexpr int flags = RTLD_NOW | RTLD_GLOBAL;
  if (!given.empty()) {
    if (void* handle = dlopen(given.c_str(), flags)) return handle;
    const char* why = dlerror();
    throw std::runtime_error("MPI: cannot open " + given + (why ? std::string(" (") + why + ")" : ""));
  }
  for (const char* name : kNames)
    if (void* handle = dlopen(name, flags)) return handle;
  throw std::runtime_error(
      "MPI is not installed: libmpi.so.40 (Open MPI) and libmpi.so.12 (MPICH) were not found; install one of "
      "them, or name the library in CAIRN_TUNE_MPI");
}

Library load(const std::string& given) {
  Library mpi;
  mpi.handle = open_library(given);
  mpi.find(mpi.init, "MPI_Init_thread");
  mpi.find(mpi.initialized, "MPI_Initialized");
  mpi.find(mpi.finalize, "MPI_Finalize");
  mpi.find(mpi.rank, "MPI_Comm_rank");
  mpi.find(mpi.size, "MPI_Comm_size");
  mpi.find(mpi.all_gather, "MPI_Allgather");
  mpi.find(mpi.all_to_all, "MPI_Alltoall");
  mpi.find(mpi.broadcast, "MPI_Bcast");
  mpi.find(mpi.barrier, "MPI_Barrier");
  mpi.find(mpi.abort, "MPI_Abort");
  mpi.world = dlsym(mpi.handle, "ompi_mpi_comm_world");
  mpi.byte = dlsym(mpi.handle, "ompi_mpi_byte");
  if (!mpi.world || !mpi.byte) {
    mpi.world = reinterpret_cast<Handle>(kMpichWorld);
    mpi.byte = reinterpret_cast<Handle>(kMpichByte);
  }
  return mpi;
}

void check(Status status, const char* operation) {
  if (status != 0)
    throw std::runtime_error(std::string("MPI ") + operation + " failed with code " + std::to_string(status));
}

class Mpi : public Transport {
 public:
  explicit Mpi(const std::string& library) : mpi_(load(library)) {
    int is_initialized = 0, provided = 0;
    check(mpi_.initialized(&is_initialized), "initialization");
    if (!is_initialized) check(mpi_.init(nullptr, nullptr, kThreadSerialized, &provided), "initialization");
    check(mpi_.rank(mpi_.world, &rank_), "rank");
    check(mpi_.size(mpi_.world, &ranks_), "size");
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void all_gather(const char* mine, char* all, size_t bytes) override {
    const int count = count_of(bytes);
    check(mpi_.all_gather(mine, count, mpi_.byte, all, count, mpi_.byte, mpi_.world), "all-gather");
  }
  void all_to_all(const char* sent, char* received, size_t bytes) override {
    const int count = count_of(bytes);
    check(mpi_.all_to_all(sent, count, mpi_.byte, received, count, mpi_.byte, mpi_.world), "all-to-all");
  }
  void broadcast(char* data, size_t bytes, int root) override {
    for (size_t at = 0; at < bytes; at += kMaxBytes)
      check(mpi_.broadcast(data + at, int(std::min(kMaxBytes, bytes - at)), mpi_.byte, root, mpi_.world),
          "broadcast");
  }
  void barrier() override { check(mpi_.barrier(mpi_.world), "barrier"); }
  /// The launcher ends all ranks, this one too.
  void abort() override { mpi_.abort(mpi_.world, 1); }
  void leave() override { check(mpi_.finalize(), "finalization"); }

 private:
  int count_of(size_t bytes) const {
    if (bytes > kMaxBytes)
      throw std::runtime_error(
          "MPI: a message of " + std::to_string(bytes) + " bytes; at most 1 GiB is allowed");
    return int(bytes);
  }

  Library mpi_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace

std::unique_ptr<Transport> join_mpi(const std::string& library) { return std::make_unique<Mpi>(library); }

}  // namespace cairn::collectives
