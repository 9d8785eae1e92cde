#include "runner.h"

#include <stdexcept>

#include "launchers.h"

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

}  // namespace

Runner::Runner(std::shared_ptr<Card> card) : card_(std::move(card)) {
  fault_ = reinterpret_cast<int32_t*>(card_->allocate(sizeof(int32_t)));
}

Runner::~Runner() {
  for (char* at : scratch_)
    if (at) card_->free(at);
  card_->free(reinterpret_cast<char*>(fault_));
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
    if (scratch_[slot]) card_->free(scratch_[slot]);
    scratch_[slot] = nullptr;
    scratch_size_[slot] = 0;
    scratch_[slot] = card_->allocate(program.scratch[slot], false);
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
  for (const Step& step : program.steps) {
    if (cancel && cancel->load(std::memory_order_relaxed)) {
      timed->cancelled = true;
      return;
    }
    const OpInfo& info = kOps[int(step.op)];
    DeviceCall call(card_->info, recording);
    for (int i = 0; i < info.inputs; i++)
      call.in[i] = step.in[i] < 0 ? nullptr : &tensors[size_t(step.in[i])];
    for (int i = 0; i < info.outputs; i++) call.out[i] = &tensors[size_t(step.out[i])];
    call.attrs = program.attrs.data() + step.attrs;
    try {
      if (timed)
        check_driver(
            card_->driver, card_->driver.event_record(events->start, card_->stream()), "timing an op");
      kLaunchers[int(step.op)](call);
      if (timed) {
        check_driver(card_->driver, card_->driver.event_record(events->end, card_->stream()), "timing an op");
        timed->spent[size_t(step.op)] += events->nanoseconds();
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(step, program, error.what()));
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

RunResult Runner::run(DeviceBound& bound, bool by_op, const std::atomic<bool>& cancel) {
  RunResult result;
  try {
    if (cancel.load(std::memory_order_relaxed)) {
      result.cancelled = true;
      return result;
    }
    card_->use();
    ready(*bound.program);
    if (by_op) {
      record(bound, &cancel, &result);
      if (result.cancelled) {
        card_->wait("running a program");
        return result;
      }
    } else {
      if (bound.graph && bound.scratch_version != scratch_version_) forget(bound);
      if (!bound.graph) capture(bound);
      check_driver(
          card_->driver, card_->driver.graph_launch(bound.graph, card_->stream()), "starting a program");
    }
    card_->wait("running a program");
    int32_t fault = 0;
    card_->copy_down(&fault, reinterpret_cast<const char*>(fault_), sizeof fault);
    if (fault > 0 && size_t(fault) <= bound.program->faults.size()) {
      const Fault& found = bound.program->faults[size_t(fault) - 1];
      const Program& program = *bound.bound.program;
      result.error = describe(program.steps[found.step], program, found.message);
    }
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace cairn::device
