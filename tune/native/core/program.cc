#include "program.h"

#include <chrono>
#include <stdexcept>

#include "layout.h"

namespace cairn {

void* shared_scratch(Scratch* scratch, int slot, size_t bytes) { return scratch->shared(slot, bytes); }
void* thread_scratch(Scratch* scratch, int thread, int slot, size_t bytes) {
  return scratch->local(thread, slot, bytes);
}
int thread_count(const Pool* pool) { return pool->size(); }
void run_tasks(Pool* pool, int64_t count, Pool::Task task, void* context) { pool->run(count, task, context); }

namespace {

constexpr int32_t kVersion = 1;

// Reads words one by one, with a bounds check.
struct Reader {
  const int32_t* words;
  size_t count;
  size_t at = 0;

  int32_t next() {
    if (at >= count) throw std::runtime_error("the program ends in the middle of a step");
    return words[at++];
  }

  int32_t next_below(int32_t limit, const char* what) {
    int32_t word = next();
    if (word < 0 || word >= limit)
      throw std::runtime_error(std::string("no ") + what + " has the number " + std::to_string(word));
    return word;
  }
};

int64_t tensor_bytes(const Tensor& tensor) {
  int64_t rows = tensor.rank > 0 ? tensor.dims[0] : 1, columns = tensor.rank > 1 ? tensor.dims[1] : 1;
  if (is_stack(tensor.dtype, tensor.rank))
    return rows * matrix_stride(tensor.dtype, tensor.dims[1], tensor.dims[2]);
  return layout_of(tensor.dtype, tensor.count, rows, columns).bytes;
}

Tensor read_tensor(Reader& reader) {
  Tensor tensor{};
  tensor.dtype = Dtype(reader.next_below(int32_t(std::size(kDtypeNames)), "dtype"));
  tensor.rank = reader.next_below(kMaxRank + 1, "rank");
  tensor.count = 1;
  for (int i = 0; i < tensor.rank; i++) {
    tensor.dims[i] = reader.next();
    if (tensor.dims[i] < 0) throw std::runtime_error("a tensor has a negative size");
    tensor.count *= tensor.dims[i];
  }
  return tensor;
}

std::string type_text(const Tensor& tensor) {
  std::string text = std::string(kDtypeNames[int(tensor.dtype)]) + " (";
  for (int i = 0; i < tensor.rank; i++) text += (i ? ", " : "") + std::to_string(tensor.dims[i]);
  return text + ")";
}

}  // namespace

std::string describe(const Step& step, const Program& program, const std::string& what) {
  const OpInfo& info = kOps[int(step.op)];
  std::string text = std::string("[") + info.name + "] " + what + ";";
  for (int i = 0; i < info.inputs; i++) {
    if (step.in[i] >= 0)
      text += (i ? std::string(", ") : std::string(" ")) + info.input_names[i] + ": " +
              type_text(program.tensors[size_t(step.in[i])]);
  }
  return text;
}

Program read_program(const int32_t* code, size_t words, const double* attrs, size_t attr_count,
    const double* places, size_t place_count) {
  Reader reader{code, words};
  if (reader.next() != kVersion)
    throw std::runtime_error("the program was written for another version of the engine");
  Program program;
  int32_t tensors = reader.next(), steps = reader.next();
  if (tensors < 0 || steps < 0 || place_count != size_t(tensors))
    throw std::runtime_error("the program must have one place for each tensor");
  for (int32_t i = 0; i < tensors; i++) {
    program.tensors.push_back(read_tensor(reader));
    Placement place{places[i] < 0, int64_t(places[i] < 0 ? -places[i] - 1 : places[i]),
        tensor_bytes(program.tensors.back())};
    if (place.is_bound) program.bindings = std::max(program.bindings, int(place.offset) + 1);
    else program.arena_bytes = std::max(program.arena_bytes, place.offset + place.bytes);
    program.placements.push_back(place);
  }
  int64_t attr = 0;
  for (int32_t i = 0; i < steps; i++) {
    Step step{};
    step.op = Op(reader.next_below(kOpCount, "op"));
    const OpInfo& info = kOps[int(step.op)];
    for (int j = 0; j < info.inputs; j++) {
      step.in[j] = reader.next();
      if (step.in[j] < -1 || step.in[j] >= tensors)
        throw std::runtime_error("a step reads a tensor that does not exist");
    }
    for (int j = 0; j < info.outputs; j++) step.out[j] = reader.next_below(tensors, "tensor");
    step.attrs = attr;
    attr += info.attrs;
    program.steps.push_back(step);
  }
  if (size_t(attr) != attr_count)
    throw std::runtime_error(
        "the steps take " + std::to_string(attr) + " attributes, got " + std::to_string(attr_count));
  program.attrs.assign(attrs, attrs + attr_count);
  return program;
}

void check_bindings(const Bound& bound) {
  const auto& [shared, arena, bindings] = bound;
  const Program& program = *shared;
  if (arena.bytes < program.arena_bytes) {
    throw std::runtime_error("the arena must have " + std::to_string(program.arena_bytes) + " bytes, got " +
                             std::to_string(arena.bytes));
  }
  if (int(bindings.size()) < program.bindings) {
    throw std::runtime_error("the program takes " + std::to_string(program.bindings) + " buffers, got " +
                             std::to_string(bindings.size()));
  }
  for (size_t i = 0; i < program.tensors.size(); i++) {
    const Placement& place = program.placements[i];
    if (place.is_bound && bindings[size_t(place.offset)].bytes < place.bytes) {
      throw std::runtime_error("buffer " + std::to_string(place.offset) + " is " +
                               type_text(program.tensors[i]) + " and must have " +
                               std::to_string(place.bytes) + " bytes, got " +
                               std::to_string(bindings[size_t(place.offset)].bytes));
    }
  }
}

namespace {

// The tensors and attributes of one step, as arguments for kernels.
Call call_of(const Program& program, const Step& step, const std::vector<Tensor>& tensors) {
  const OpInfo& info = kOps[int(step.op)];
  Call call{};
  for (int i = 0; i < info.inputs; i++) call.in[i] = step.in[i] < 0 ? nullptr : &tensors[size_t(step.in[i])];
  for (int i = 0; i < info.outputs; i++) call.out[i] = &tensors[size_t(step.out[i])];
  call.attrs = program.attrs.data() + step.attrs;
  return call;
}

}  // namespace

size_t scratch_bound(const Program& program, const ScratchOf* scratch_of, int threads) {
  ScratchSizes sizes{threads};
  for (const Step& step : program.steps) {
    if (scratch_of[int(step.op)]) scratch_of[int(step.op)](call_of(program, step, program.tensors), sizes);
  }
  size_t sum = 0;
  for (int slot = 0; slot < kScratchSlots; slot++)
    sum += allocated_bytes(sizes.shared[slot]) + size_t(threads) * allocated_bytes(sizes.own[slot]);
  return sum;
}

std::vector<Tensor> placed_tensors(const Bound& bound) {
  const auto& [program, arena, bindings] = bound;
  std::vector<Tensor> tensors = program->tensors;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Placement& place = program->placements[i];
    tensors[i].data = place.is_bound ? bindings[size_t(place.offset)].data : arena.data + place.offset;
  }
  return tensors;
}

RunResult run_program(const Bound& bound, const Kernel* kernels, Pool& pool, Scratch& scratch,
    const std::atomic<bool>& cancel) {
  const Program& program = *bound.program;
  using Clock = std::chrono::steady_clock;
  RunResult result;
  const std::vector<Tensor> tensors = placed_tensors(bound);
  for (const Step& step : program.steps) {
    if (cancel.load(std::memory_order_relaxed)) {
      result.cancelled = true;
      return result;
    }
    Call call = call_of(program, step, tensors);
    call.pool = &pool;
    call.scratch = &scratch;
    auto start = Clock::now();
    try {
      if (!kernels[int(step.op)]) throw std::runtime_error("has no kernel on this backend");
      kernels[int(step.op)](call);
    } catch (const std::bad_alloc&) {
      result.error = describe(step, program, "not enough memory for scratch space");
      return result;
    } catch (const std::exception& error) {
      result.error = describe(step, program, error.what());
      return result;
    }
    result.spent[size_t(step.op)] += std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  return result;
}

}  // namespace cairn
