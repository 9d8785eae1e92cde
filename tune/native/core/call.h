// What a kernel is handed: the tensors of one step, its attributes, the threads and the scratch memory. Data
// only; what kernels do with it is in cpu/access.h, compiled for their own instruction set.
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
  // Null where an optional input is left out.
  const Tensor* in[kMaxInputs];
  const Tensor* out[kMaxOutputs];
  const double* attrs;
  Pool* pool;
  Scratch* scratch;
};

using Kernel = void (*)(Call& call);

constexpr int kScratchSlots = 8;

// Bytes that a kernel asks of each slot of the scratch.
struct ScratchSizes {
  // How many threads will share out the work.
  int threads;
  size_t shared[kScratchSlots]{}, own[kScratchSlots]{};

  void add_shared(int slot, size_t bytes) { shared[slot] = shared[slot] > bytes ? shared[slot] : bytes; }
  // For each thread.
  void add_own(int slot, size_t bytes) { own[slot] = own[slot] > bytes ? own[slot] : bytes; }
};

// Counts what a kernel will ask for, from shapes and attributes alone: no tensor has data yet. What depends
// on data counts at its largest.
using ScratchOf = void (*)(const Call& call, ScratchSizes& sizes);

// Scratch shared by all threads of a step; slots are independent. Not for use inside a parallel section.
void* shared_scratch(Scratch* scratch, int slot, size_t bytes);
// Scratch of one thread; its contents do not outlive the parallel section. Slots are independent.
void* thread_scratch(Scratch* scratch, int thread, int slot, size_t bytes);
int thread_count(const Pool* pool);
void run_tasks(
    Pool* pool, int64_t count, void (*task)(void* context, int64_t index, int thread), void* context);

}  // namespace cairn
