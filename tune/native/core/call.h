// The arguments of a kernel: the tensors of one step, its attributes, the threads and the scratch memory.
// Data only. Kernels access it through cpu/access.h, compiled for their own instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ops.h"

namespace cairn {

class Pool;
class Scratch;

constexpr int kMaxRank = 4;
constexpr int kMaxInputs = 10;
constexpr int kMaxOutputs = 4;

struct Tensor {
  Dtype dtype;
  int rank;
  int64_t dims[kMaxRank];
  int64_t count;
  char* data;
};

struct Call {
  // Null for an absent optional input.
  const Tensor* in[kMaxInputs];
  const Tensor* out[kMaxOutputs];
  const double* attrs;
  Pool* pool;
  Scratch* scratch;
};

using Kernel = void (*)(Call& call);

constexpr int kScratchSlots = 8;

// Bytes that a kernel needs in each scratch slot.
struct ScratchSizes {
  // Number of threads that will share the work.
  int threads;
  size_t shared[kScratchSlots]{}, own[kScratchSlots]{};

  void add_shared(int slot, size_t bytes) { shared[slot] = shared[slot] > bytes ? shared[slot] : bytes; }
  // Per thread.
  void add_own(int slot, size_t bytes) { own[slot] = own[slot] > bytes ? own[slot] : bytes; }
};

// Computes a kernel's scratch from shapes and attributes alone, because tensors have no data yet. Sizes that
// depend on data count at their maximum.
using ScratchOf = void (*)(const Call& call, ScratchSizes& sizes);

// Scratch shared by all threads of a step. Slots are independent. Not for use inside a parallel section.
void* shared_scratch(Scratch* scratch, int slot, size_t bytes);
// Scratch of one thread, valid within a parallel section. Slots are independent.
void* thread_scratch(Scratch* scratch, int thread, int slot, size_t bytes);
int thread_count(const Pool* pool);
void run_tasks(
    Pool* pool, int64_t count, void (*task)(void* context, int64_t index, int thread), void* context);

}  // namespace cairn
