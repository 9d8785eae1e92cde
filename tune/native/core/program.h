// A program in native form: decoded and checked once, executed many times.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "call.h"
#include "pool.h"
#include "scratch.h"

namespace cairn {

struct Step {
  Op op;
  int in[kMaxInputs];
  int out[kMaxOutputs];
  int64_t attrs;
};

// Location of a tensor's bytes: in the arena, or in a buffer that the caller binds for each run.
struct Placement {
  bool is_bound;
  int64_t offset;
  int64_t bytes;
};

struct Program {
  std::vector<Tensor> tensors;
  std::vector<Placement> placements;
  std::vector<Step> steps;
  std::vector<double> attrs;
  int64_t arena_bytes = 0;
  int bindings = 0;
};

// Reads the flat form that tune/program writes (tune/native/src/engine.ts describes it). Throws
// std::runtime_error if it is malformed.
Program read_program(const int32_t* code, size_t words, const double* attrs, size_t attr_count,
    const double* places, size_t place_count);

struct Buffer {
  char* data;
  int64_t bytes;
};

// A program with its memory, which the caller keeps alive.
struct Bound {
  std::shared_ptr<const Program> program;
  Buffer arena;
  std::vector<Buffer> bindings;
};

// Throws if a buffer is too small for its tensor.
void check_bindings(const Bound& bound);

struct RunResult {
  bool cancelled = false;
  std::string error;
  // Nanoseconds by op.
  std::vector<double> spent = std::vector<double>(kOpCount, 0.0);
};

// `[rms_norm] what; x: bf16 (7, 64), weight: f32 (64)`: the one place that adds the step's name and shapes to
// an error.
std::string describe(const Step& step, const Program& program, const std::string& what);

// The tensors with their addresses in the memory of a bound program.
std::vector<Tensor> placed_tensors(const Bound& bound);

// Maximum bytes of scratch after a run of the program on `threads` threads.
size_t scratch_bound(const Program& program, const ScratchOf* scratch_of, int threads);

// Executes the steps. Checks `cancel` before each.
RunResult run_program(
    const Bound& bound, const Kernel* kernels, Pool& pool, Scratch& scratch, const std::atomic<bool>& cancel);

}  // namespace cairn
