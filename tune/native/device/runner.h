// Programs on a card: read and counted before they run, then recorded once as a graph and launched.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "card.h"
#include "program.h"

namespace cairn::device {

// A kernel of a program: the maximum dynamic shared memory of its launches, and their number.
struct KernelUse {
  std::string module, name;
  int shared;
  int64_t launches;
};

// An error that a kernel may find in the data of a step.
struct Fault {
  size_t step;
  std::string message;
};

struct DeviceProgram {
  std::shared_ptr<const Program> program;
  size_t scratch[kScratchSlots]{};
  std::vector<KernelUse> kernels;
  std::vector<Fault> faults;
  // Launches that are not kernels.
  int64_t clears = 0, copies = 0;

  size_t scratch_bytes() const;
};

// Arguments of all steps of a program, whose tensors are `tensors`.
std::vector<DeviceCall> calls_of(const DeviceInfo& device, Launches& launches, const Program& program,
    const std::vector<Tensor>& tensors);

// Launches the step at `first` and those that share its launch. Returns their number. Throws with the name of
// an op that rejects its arguments.
size_t launch_steps(const Program& program, std::vector<DeviceCall>& calls, size_t first);

// Calls every launcher once without launching anything. Throws with the name of the first op that has no
// launcher or rejects its arguments.
DeviceProgram prepare_program(const DeviceInfo& device, Program program);

// A program bound to fixed memory, and the graph of its launches once it has run.
struct DeviceBound {
  std::shared_ptr<const DeviceProgram> program;
  Bound bound;
  CUgraphExec graph = nullptr;
  // Version of the scratch that the graph was recorded with.
  uint64_t scratch_version = 0;
};

// A program of a queue: the bytes that are written to buffers before it, and a copy between buffers after it.
struct QueuedRun {
  struct Write {
    char* to;
    std::vector<char> bytes;
  };
  std::shared_ptr<DeviceBound> bound;
  std::vector<Write> writes;
  char* to = nullptr;
  const char* from = nullptr;
  size_t bytes = 0;
};

class Runner {
 public:
  explicit Runner(std::shared_ptr<Card> card);
  ~Runner();

  Card& card() const { return *card_; }
  // Launches the program as one graph and waits for it; with `by_op`, op by op, timing each.
  RunResult run(DeviceBound& bound, bool by_op, const std::atomic<bool>& cancel);
  // Launches programs one after the other and waits once at the end. At most two are ahead of the card, so
  // that a cancellation takes effect before the next but one.
  RunResult run_queue(const std::vector<QueuedRun>& queue, const std::atomic<bool>& cancel);
  void forget(DeviceBound& bound);
  size_t scratch_bytes() const;

 private:
  void launch(DeviceBound& bound);
  void enqueue(const QueuedRun& run, char* staged, int32_t* fault);
  char* pinned(size_t bytes);
  void ready(const DeviceProgram& program);
  void record(const DeviceBound& bound, const std::atomic<bool>* cancel, RunResult* timed);
  void capture(DeviceBound& bound);

  std::shared_ptr<Card> card_;
  char* scratch_[kScratchSlots]{};
  size_t scratch_size_[kScratchSlots]{};
  uint64_t scratch_version_ = 1;
  // On the card, and its host copy after a run.
  int32_t* fault_ = nullptr;
  // Memory of the host that a card copies from and to on its own.
  void* pinned_ = nullptr;
  size_t pinned_bytes_ = 0;
};

}  // namespace cairn::device
