// The first of two calls of each launcher: launches nothing, counts everything.
#include <stdexcept>

#include "layout.h"
#include "launch/thin.h"
#include "launchers.h"
#include "runner.h"

namespace cairn::device {

namespace {

class Counting : public Launches {
 public:
  explicit Counting(DeviceProgram& program) : program_(program) {}
  size_t step = 0;

  char* scratch(int slot, size_t bytes) override {
    size_t& size = program_.scratch[slot];
    size = std::max(size, bytes);
    // Never read, because nothing is launched.
    return nullptr;
  }
  void kernel(const char* module, const char* name, Grid grid, int threads, const void*, size_t,
      int shared) override {
    if (threads < 1 || threads > 1024 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
      throw std::runtime_error(std::string("is too large for the grid of ") + name);
    for (KernelUse& use : program_.kernels) {
      if (use.name != name || use.module != module) continue;
      use.shared = std::max(use.shared, shared);
      use.launches++;
      return;
    }
    program_.kernels.push_back({module, name, shared, 1});
  }
  cuda::TensorMap tensor_map(const BoxedMatrix&) override { return {}; }
  void fill(void*, int, size_t) override { program_.clears++; }
  void copy(void*, const void*, size_t) override { program_.copies++; }
  int fault(const char* message) override {
    program_.faults.push_back({step, message});
    return int(program_.faults.size());
  }
  int32_t* fault_word() override { return nullptr; }

 private:
  DeviceProgram& program_;
};

}  // namespace

size_t DeviceProgram::scratch_bytes() const {
  size_t sum = 0;
  for (const size_t bytes : scratch) sum += bytes;
  return sum;
}

std::vector<DeviceCall> calls_of(const DeviceInfo& device, Launches& launches, const Program& program,
    const std::vector<Tensor>& tensors) {
  std::vector<DeviceCall> calls;
  calls.reserve(program.steps.size());
  for (const Step& step : program.steps) {
    const OpInfo& info = kOps[int(step.op)];
    DeviceCall& call = calls.emplace_back(device, launches);
    for (int i = 0; i < info.inputs; i++)
      call.in[i] = step.in[i] < 0 ? nullptr : &tensors[size_t(step.in[i])];
    for (int i = 0; i < info.outputs; i++) call.out[i] = &tensors[size_t(step.out[i])];
    call.attrs = program.attrs.data() + step.attrs;
  }
  return calls;
}

size_t launch_steps(const Program& program, std::vector<DeviceCall>& calls, size_t first) {
  const Step& step = program.steps[first];
  try {
    if (const size_t count = count_thin(program, calls, first)) {
      multiply_thin(program, calls, first, count);
      return count;
    }
    kLaunchers[int(step.op)](calls[first]);
    return 1;
  } catch (const std::exception& error) {
    throw std::runtime_error(describe(step, program, error.what()));
  }
}

DeviceProgram prepare_program(const DeviceInfo& device, Program read) {
  DeviceProgram prepared{std::make_shared<const Program>(std::move(read)), {}, {}, {}, 0, 0};
  const Program& program = *prepared.program;
  Counting counting(prepared);
  for (const Step& step : program.steps)
    if (!kLaunchers[int(step.op)])
      throw std::runtime_error(std::string("[") + kOps[int(step.op)].name + "] has no kernel for a card");
  std::vector<DeviceCall> calls = calls_of(device, counting, program, program.tensors);
  while (counting.step < program.steps.size()) counting.step += launch_steps(program, calls, counting.step);
  return prepared;
}

}  // namespace cairn::device
