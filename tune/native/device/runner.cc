#include "runner.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "launchers.h"
#include "layout.h"

namespace cairn::device {

namespace {

// The second call of each launcher: into the card's stream, which may be recording.
class Recording : public Launches {
 public:
  Recording(Card& card, char* const* scratch, int32_t* fault)
      : card_(card), scratch_(scratch), fault_(fault) {}

  char* scratch(int slot, size_t) override { return scratch_[slot]; }
  void kernel(const char* module, const char* name, Grid grid, int threads, const void* params, size_t,
      int shared) override {
    const CUfunction function = card_.function(module, name, shared);
    void* given[] = {const_cast<void*>(params)};
    check_driver(card_.driver,
        card_.driver.launch(function, unsigned(grid.x), unsigned(grid.y), unsigned(grid.z),
            unsigned(threads), 1, 1, unsigned(shared), card_.stream(), given, nullptr),
        name);
  }
  cuda::TensorMap tensor_map(const BoxedMatrix& matrix) override { return card_.tensor_map(matrix); }
  void fill(void* at, int byte, size_t bytes) override {
    check_driver(card_.driver,
        card_.driver.fill(CUdeviceptr(at), static_cast<unsigned char>(byte), bytes, card_.stream()),
        "clearing memory of the card");
  }
  void copy(void* to, const void* from, size_t bytes) override {
    check_driver(card_.driver,
        card_.driver.copy_across(CUdeviceptr(to), CUdeviceptr(from), bytes, card_.stream()),
        "copying on the card");
  }
  // In the order of the first call.
  int fault(const char*) override { return ++faults_; }
  int32_t* fault_word() override { return fault_; }

 private:
  Card& card_;
  char* const* scratch_;
  int32_t* fault_;
  int faults_ = 0;
};

struct Events {
  const Driver& driver;
  CUevent start = nullptr, end = nullptr;
  explicit Events(const Driver& driver) : driver(driver) {
    check_driver(driver, driver.event_create(&start, 0), "making an event");
    check_driver(driver, driver.event_create(&end, 0), "making an event");
  }
  ~Events() {
    if (start) driver.event_destroy(start);
    if (end) driver.event_destroy(end);
  }
  double nanoseconds() const {
    float milliseconds = 0;
    check_driver(driver, driver.event_wait(end), "waiting for an op");
    check_driver(driver, driver.event_elapsed(&milliseconds, start, end), "timing an op");
    return double(milliseconds) * 1e6;
  }
};

// The error of a fault's code, empty for none.
std::string text_of(const DeviceBound& bound, int32_t fault) {
  if (fault <= 0 || size_t(fault) > bound.program->faults.size()) return "";
  const Fault& found = bound.program->faults[size_t(fault) - 1];
  const Program& program = *bound.bound.program;
  return describe(program.steps[found.step], program, found.message);
}

}  // namespace

Runner::Runner(std::shared_ptr<Card> card) : card_(std::move(card)) {
  fault_ = reinterpret_cast<int32_t*>(card_->allocate(sizeof(int32_t)));
}

Runner::~Runner() {
  for (char* at : scratch_)
    if (at) card_->free(at);
  card_->free(reinterpret_cast<char*>(fault_));
  if (pinned_) card_->driver.host_free(pinned_);
}

size_t Runner::scratch_bytes() const {
  size_t sum = 0;
  for (const size_t bytes : scratch_size_) sum += bytes;
  return sum;
}

// Loads kernels and grows the scratch, which is not allowed while a stream records.
void Runner::ready(const DeviceProgram& program) {
  for (const KernelUse& use : program.kernels) card_->function(use.module, use.name, use.shared);
  for (int slot = 0; slot < kScratchSlots; slot++) {
    if (program.scratch[slot] <= scratch_size_[slot]) continue;
    // An earlier program of a queue may be using it.
    card_->wait("running a program");
    if (scratch_[slot]) card_->free(scratch_[slot]);
    scratch_[slot] = nullptr;
    scratch_size_[slot] = 0;
    scratch_[slot] = card_->allocate(program.scratch[slot], slot == kCounterSlot);
    scratch_size_[slot] = program.scratch[slot];
    scratch_version_++;
  }
}

void Runner::record(const DeviceBound& bound, const std::atomic<bool>* cancel, RunResult* timed) {
  const Program& program = *bound.bound.program;
  const std::vector<Tensor> tensors = placed_tensors(bound.bound);
  Recording recording(*card_, scratch_, fault_);
  std::unique_ptr<Events> events;
  if (timed) events = std::make_unique<Events>(card_->driver);
  recording.fill(fault_, 0, sizeof(int32_t));
  std::vector<DeviceCall> calls = calls_of(card_->info, recording, program, tensors);
  for (size_t next = 0; next < program.steps.size();) {
    if (cancel && cancel->load(std::memory_order_relaxed)) {
      timed->cancelled = true;
      return;
    }
    const Step& step = program.steps[next];
    if (timed)
      check_driver(card_->driver, card_->driver.event_record(events->start, card_->stream()), "timing an op");
    next += launch_steps(program, calls, next);
    if (timed) {
      check_driver(card_->driver, card_->driver.event_record(events->end, card_->stream()), "timing an op");
      timed->spent[size_t(step.op)] += events->nanoseconds();
    }
  }
}

void Runner::capture(DeviceBound& bound) {
  const Driver& driver = card_->driver;
  check_driver(driver, driver.capture_begin(card_->stream(), kCaptureThreadLocal), "recording a program");
  CUgraph graph = nullptr;
  try {
    record(bound, nullptr, nullptr);
  } catch (...) {
    driver.capture_end(card_->stream(), &graph);
    if (graph) driver.graph_destroy(graph);
    throw;
  }
  check_driver(driver, driver.capture_end(card_->stream(), &graph), "recording a program");
  const CUresult result = driver.graph_instantiate(&bound.graph, graph, 0);
  driver.graph_destroy(graph);
  check_driver(driver, result, "readying a recorded program");
  bound.scratch_version = scratch_version_;
}

void Runner::forget(DeviceBound& bound) {
  if (!bound.graph) return;
  card_->use();
  card_->driver.graph_instance_destroy(bound.graph);
  bound.graph = nullptr;
}

void Runner::launch(DeviceBound& bound) {
  ready(*bound.program);
  if (bound.graph && bound.scratch_version != scratch_version_) forget(bound);
  if (!bound.graph) capture(bound);
  check_driver(card_->driver, card_->driver.graph_launch(bound.graph, card_->stream()), "starting a program");
}

RunResult Runner::run(DeviceBound& bound, bool by_op, const std::atomic<bool>& cancel) {
  RunResult result;
  try {
    if (cancel.load(std::memory_order_relaxed)) {
      result.cancelled = true;
      return result;
    }
    card_->use();
    if (by_op) {
      ready(*bound.program);
      record(bound, &cancel, &result);
      if (result.cancelled) {
        card_->wait("running a program");
        return result;
      }
    } else {
      launch(bound);
    }
    card_->wait("running a program");
    int32_t fault = 0;
    card_->copy_down(&fault, reinterpret_cast<const char*>(fault_), sizeof fault);
    result.error = text_of(bound, fault);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

char* Runner::pinned(size_t bytes) {
  if (bytes > pinned_bytes_) {
    if (pinned_) card_->driver.host_free(pinned_);
    pinned_ = nullptr;
    pinned_bytes_ = 0;
    check_driver(card_->driver, card_->driver.host_allocate(&pinned_, bytes), "allocating pinned memory");
    pinned_bytes_ = bytes;
  }
  return static_cast<char*>(pinned_);
}

void Runner::enqueue(const QueuedRun& run, char* staged, int32_t* fault) {
  const Driver& driver = card_->driver;
  for (const QueuedRun::Write& write : run.writes) {
    std::memcpy(staged, write.bytes.data(), write.bytes.size());
    check_driver(driver,
        driver.copy_up(CUdeviceptr(write.to), staged, write.bytes.size(), card_->stream()),
        "copying to the card");
    staged += align_up(int64_t(write.bytes.size()), 16);
  }
  launch(*run.bound);
  check_driver(driver, driver.copy_down(fault, CUdeviceptr(fault_), sizeof *fault, card_->stream()),
      "copying from the card");
  if (run.bytes > 0)
    check_driver(driver,
        driver.copy_across(CUdeviceptr(run.to), CUdeviceptr(run.from), run.bytes, card_->stream()),
        "copying on the card");
}

RunResult Runner::run_queue(const std::vector<QueuedRun>& queue, const std::atomic<bool>& cancel) {
  constexpr size_t kAhead = 2;
  RunResult result;
  size_t staged = 0, launched = 0;
  for (const QueuedRun& run : queue) {
    size_t bytes = 0;
    for (const QueuedRun::Write& write : run.writes)
      bytes += size_t(align_up(int64_t(write.bytes.size()), 16));
    staged = std::max(staged, bytes);
  }
  try {
    card_->use();
    const Driver& driver = card_->driver;
    char* const memory = pinned(kAhead * staged + queue.size() * sizeof(int32_t));
    int32_t* const faults = reinterpret_cast<int32_t*>(memory + kAhead * staged);
    Events ends(driver);
    try {
      for (; launched < queue.size(); launched++) {
        const CUevent end = launched % kAhead == 0 ? ends.start : ends.end;
        // The program whose inputs lie there has ended.
        if (launched >= kAhead) check_driver(driver, driver.event_wait(end), "running a program");
        if ((result.cancelled = cancel.load(std::memory_order_relaxed))) break;
        enqueue(queue[launched], memory + launched % kAhead * staged, faults + launched);
        check_driver(driver, driver.event_record(end, card_->stream()), "running a program");
      }
    } catch (...) {
      // The card still reads and writes pinned memory.
      driver.stream_wait(card_->stream());
      throw;
    }
    card_->wait("running a program");
    for (size_t i = 0; i < launched && result.error.empty(); i++)
      result.error = text_of(*queue[i].bound, faults[i]);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace cairn::device
