// The JavaScript interface of cards: a separate addon, so that the CPU's addon builds without it.
#include <unordered_set>

#include "../binding/completion.h"
#include "../binding/napi.h"
#include "../binding/walker.h"
#include "launchers.h"
#include "nccl.h"
#include "runner.h"

namespace cairn::device {

namespace {

using namespace cairn::binding;

// The thread ends before the runner, and the runner before the card.
struct Engine {
  std::shared_ptr<Card> card;
  std::shared_ptr<Runner> runner;
  std::unique_ptr<Walker> walker;
  explicit Engine(std::shared_ptr<Card> made)
      : card(std::move(made)), runner(std::make_shared<Runner>(card)), walker(std::make_unique<Walker>()) {}
  ~Engine() {
    walker.reset();
    runner.reset();
  }
};

struct Environment {
  std::unordered_set<std::shared_ptr<Engine>> engines;
};

Environment& environment_of(napi_env env) {
  void* data = nullptr;
  check(env, napi_get_instance_data(env, &data));
  return *static_cast<Environment*>(data);
}

struct EngineHandle {
  std::shared_ptr<Engine> engine;
};

Engine& engine_of(napi_env env, napi_value value) {
  auto& handle = external_of<EngineHandle>(env, value);
  if (!handle.engine) throw std::runtime_error("the engine is closed");
  return *handle.engine;
}

struct BufferHandle {
  std::shared_ptr<Memory> memory;
  size_t from, bytes;
  char* data() const { return memory->at + from; }
};

struct ProgramHandle {
  std::shared_ptr<const DeviceProgram> program;
};

struct BoundHandle {
  std::shared_ptr<DeviceBound> bound;
};

// Empty until all ranks have joined.
struct NcclHandle {
  std::shared_ptr<Communicator> communicator;
};

struct CancelHandle {
  std::shared_ptr<std::atomic<bool>> cancel;
};

void set(napi_env env, napi_value object, const char* name, napi_value value) {
  check(env, napi_set_named_property(env, object, name, value));
}

// cards(driver): the cards that the driver lists.
napi_value cards(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  const Driver& driver = driver_at(string_of(env, args.value[0]));
  int count = 0, version = 0;
  device::check_driver(driver, driver.device_count(&count), "counting cards");
  device::check_driver(driver, driver.driver_version(&version), "asking the driver's version");
  napi_value list;
  check(env, napi_create_array(env, &list));
  for (int i = 0; i < count; i++) {
    const DeviceInfo card = describe_card(driver, i);
    napi_value object, emulated, fp8, fp4;
    check(env, napi_create_object(env, &object));
    set(env, object, "name", make_string(env, card.name));
    set(env, object, "capability", make_number(env, card.capability));
    set(env, object, "processors", make_number(env, card.processors));
    set(env, object, "memoryBytes", make_number(env, double(card.memory_bytes)));
    set(env, object, "driverVersion", make_number(env, version));
    check(env, napi_get_boolean(env, card.is_emulated, &emulated));
    set(env, object, "isEmulated", emulated);
    check(env, napi_get_boolean(env, card.multiplies_fp8, &fp8));
    set(env, object, "multipliesFp8", fp8);
    check(env, napi_get_boolean(env, card.multiplies_fp4, &fp4));
    set(env, object, "multipliesFp4", fp4);
    check(env, napi_set_element(env, list, uint32_t(i), object));
  }
  return list;
}

// launchers(): the ops with a launcher.
napi_value launchers(napi_env env, napi_callback_info) {
  napi_value list;
  check(env, napi_create_array(env, &list));
  uint32_t count = 0;
  for (int op = 0; op < kOpCount; op++)
    if (kLaunchers[op]) check(env, napi_set_element(env, list, count++, make_string(env, kOps[op].name)));
  return list;
}

// createEngine(driver, ordinal, folder of modules, whether they are text, whether rows are invariant, whether
// products may run in fp8, whether in fp4, kernels: 0 by default, 1 classic, 2 wide products bulk,
// 3 all bulk)
napi_value create_engine(napi_env env, napi_callback_info info) {
  Args<8> args(env, info);
  bool are_text = false;
  CardOptions options;
  check(env, napi_get_value_bool(env, args.value[3], &are_text));
  check(env, napi_get_value_bool(env, args.value[4], &options.is_row_invariant));
  check(env, napi_get_value_bool(env, args.value[5], &options.uses_fp8));
  check(env, napi_get_value_bool(env, args.value[6], &options.uses_fp4));
  const int kernels = int(number_of(env, args.value[7]));
  options.is_classic = kernels == 1;
  if (kernels > 1) options.bulk_products = BulkProducts(kernels - 1);
  auto card = std::make_shared<Card>(driver_at(string_of(env, args.value[0])),
      int(number_of(env, args.value[1])), string_of(env, args.value[2]), are_text,
      options);
  auto engine = std::make_shared<Engine>(std::move(card));
  environment_of(env).engines.insert(engine);
  return make_external(env, new EngineHandle{engine});
}

napi_value close_engine(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  auto& handle = external_of<EngineHandle>(env, args.value[0]);
  environment_of(env).engines.erase(handle.engine);
  handle.engine.reset();
  return make_undefined(env);
}

napi_value free_bytes(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return make_number(env, double(engine_of(env, args.value[0]).card->free_bytes()));
}

napi_value scratch_bytes(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return make_number(env, double(engine_of(env, args.value[0]).runner->scratch_bytes()));
}

napi_value scratch_bound(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return make_number(env, double(external_of<ProgramHandle>(env, args.value[0]).program->scratch_bytes()));
}

// launches(program): the number of launches of each kernel, and of clearing and copying memory.
napi_value launches(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  const DeviceProgram& program = *external_of<ProgramHandle>(env, args.value[0]).program;
  napi_value object;
  check(env, napi_create_object(env, &object));
  for (const KernelUse& use : program.kernels)
    set(env, object, use.name.c_str(), make_number(env, double(use.launches)));
  if (program.clears > 0) set(env, object, "clear", make_number(env, double(program.clears)));
  if (program.copies > 0) set(env, object, "copy", make_number(env, double(program.copies)));
  return object;
}

// allocate(engine, bytes): zeroed. Reports the size to Node, so that unused buffers are freed soon.
napi_value allocate(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  const Engine& engine = engine_of(env, args.value[0]);
  const size_t bytes = size_t(number_of(env, args.value[1]));
  auto* handle = new BufferHandle{nullptr, 0, bytes};
  napi_value value;
  check(env, napi_create_external(
                 env, handle,
                 [](napi_env of, void* owned, void*) {
                   auto* dropped = static_cast<BufferHandle*>(owned);
                   int64_t now = 0;
                   if (dropped->memory) napi_adjust_external_memory(of, -int64_t(dropped->bytes), &now);
                   delete dropped;
                 },
                 nullptr, &value));
  handle->memory = std::make_shared<Memory>(engine.card, bytes);
  int64_t now = 0;
  check(env, napi_adjust_external_memory(env, int64_t(bytes), &now));
  return value;
}

// part(buffer, from, to)
napi_value part(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  const auto& whole = external_of<BufferHandle>(env, args.value[0]);
  const size_t from = size_t(number_of(env, args.value[1])), to = size_t(number_of(env, args.value[2]));
  if (from > to || to > whole.bytes) throw std::runtime_error("a part must lie inside its buffer");
  return make_external(env, new BufferHandle{whole.memory, whole.from + from, to - from});
}

std::pair<const BufferHandle*, size_t> place_of(
    napi_env env, napi_value buffer, napi_value at, size_t bytes) {
  const auto& handle = external_of<BufferHandle>(env, buffer);
  const size_t from = size_t(number_of(env, at));
  if (from > handle.bytes || bytes > handle.bytes - from)
    throw std::runtime_error("bytes " + std::to_string(from) + " to " + std::to_string(from + bytes) +
                             " lie outside a buffer of " + std::to_string(handle.bytes));
  return {&handle, from};
}

std::shared_ptr<Card> card_of(const BufferHandle& handle) {
  auto card = handle.memory->card.lock();
  if (!card) throw std::runtime_error("the engine is closed");
  return card;
}

// copyUp(buffer, at, view)
napi_value copy_up(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  const auto view = bytes_of(env, args.value[2]);
  const auto [handle, from] = place_of(env, args.value[0], args.value[1], view.count);
  card_of(*handle)->copy_up(handle->data() + from, view.data, view.count);
  return make_undefined(env);
}

// copyDown(buffer, at, view)
napi_value copy_down(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  const auto view = bytes_of(env, args.value[2]);
  const auto [handle, from] = place_of(env, args.value[0], args.value[1], view.count);
  card_of(*handle)->copy_down(view.data, handle->data() + from, view.count);
  return make_undefined(env);
}

// clear(buffer, at, bytes)
napi_value clear(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  const size_t bytes = size_t(number_of(env, args.value[2]));
  const auto [handle, from] = place_of(env, args.value[0], args.value[1], bytes);
  card_of(*handle)->clear(handle->data() + from, bytes);
  return make_undefined(env);
}

// compile(engine, code, attrs, places)
napi_value compile(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  const Engine& engine = engine_of(env, args.value[0]);
  auto code = span_of<int32_t>(env, args.value[1]);
  auto attrs = span_of<double>(env, args.value[2]), places = span_of<double>(env, args.value[3]);
  auto program = std::make_shared<const DeviceProgram>(prepare_program(engine.card->info,
      read_program(code.data, code.count, attrs.data, attrs.count, places.data, places.count)));
  return make_external(env, new ProgramHandle{program});
}

// bind(engine, program, arena, bindings): JavaScript keeps the buffers alive for as long as the program may
// run.
napi_value bind(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  const Engine& engine = engine_of(env, args.value[0]);
  const auto& program = external_of<ProgramHandle>(env, args.value[1]).program;
  // The graph is destroyed by the runner that recorded it, if that still exists.
  std::shared_ptr<DeviceBound> bound(new DeviceBound{program, {program->program, {}, {}}},
      [runner = std::weak_ptr(engine.runner)](DeviceBound* dropped) {
        if (auto alive = runner.lock()) alive->forget(*dropped);
        delete dropped;
      });
  const auto& arena = external_of<BufferHandle>(env, args.value[2]);
  bound->bound.arena = {arena.data(), int64_t(arena.bytes)};
  uint32_t count = 0;
  check(env, napi_get_array_length(env, args.value[3], &count));
  for (uint32_t i = 0; i < count; i++) {
    napi_value element;
    check(env, napi_get_element(env, args.value[3], i, &element));
    const auto& buffer = external_of<BufferHandle>(env, element);
    bound->bound.bindings.push_back({buffer.data(), int64_t(buffer.bytes)});
  }
  check_bindings(bound->bound);
  return make_external(env, new BoundHandle{bound});
}

// run(engine, bound, whether to time each op, done)
napi_value run(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  bool by_op = false;
  check(env, napi_get_value_bool(env, args.value[2], &by_op));
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  napi_value handle = make_external(env, new CancelHandle{cancel});
  Engine& engine = engine_of(env, args.value[0]);
  auto bound = external_of<BoundHandle>(env, args.value[1]).bound;
  engine.walker->enqueue({[runner = engine.runner.get(), bound, by_op](const std::atomic<bool>& stop) {
                            return runner->run(*bound, by_op, stop);
                          },
      cancel, completion_of(env, args.value[3])});
  return handle;
}

QueuedRun queued_of(napi_env env, napi_value value) {
  const auto element = [&](napi_value list, uint32_t i) {
    napi_value found;
    check(env, napi_get_element(env, list, i, &found));
    return found;
  };
  QueuedRun run;
  run.bound = external_of<BoundHandle>(env, element(value, 0)).bound;
  uint32_t count = 0;
  const napi_value writes = element(value, 1);
  check(env, napi_get_array_length(env, writes, &count));
  for (uint32_t i = 0; i + 1 < count; i += 2) {
    const auto& to = external_of<BufferHandle>(env, element(writes, i));
    const auto view = bytes_of(env, element(writes, i + 1));
    if (view.count > to.bytes) throw std::runtime_error("a write is longer than its buffer");
    run.writes.push_back({to.data(), {view.data, view.data + view.count}});
  }
  const auto &from = external_of<BufferHandle>(env, element(value, 2)),
             &to = external_of<BufferHandle>(env, element(value, 3));
  if (from.bytes != to.bytes) throw std::runtime_error("a copy needs buffers of the same size");
  run.from = from.data();
  run.to = to.data();
  run.bytes = from.bytes;
  return run;
}

// runQueue(engine, runs, done): each run is a bound program, buffers and the bytes that are written to them,
// and two buffers of which the second gets a copy of the first after the program.
napi_value run_queue(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  Engine& engine = engine_of(env, args.value[0]);
  std::vector<QueuedRun> queue;
  uint32_t count = 0;
  check(env, napi_get_array_length(env, args.value[1], &count));
  for (uint32_t i = 0; i < count; i++) {
    napi_value element;
    check(env, napi_get_element(env, args.value[1], i, &element));
    queue.push_back(queued_of(env, element));
  }
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  napi_value handle = make_external(env, new CancelHandle{cancel});
  engine.walker->enqueue(
      {[runner = engine.runner.get(), queue = std::move(queue)](
           const std::atomic<bool>& stop) { return runner->run_queue(queue, stop); },
          cancel, completion_of(env, args.value[2])});
  return handle;
}

napi_value cancel(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  external_of<CancelHandle>(env, args.value[0]).cancel->store(true);
  return make_undefined(env);
}

// Does work on the engine's thread, in the order of its runs.
void enqueue(napi_env env, Engine& engine, napi_value done, std::function<void()> work) {
  engine.walker->enqueue({[work = std::move(work)](const std::atomic<bool>&) {
                            RunResult result;
                            try {
                              work();
                            } catch (const std::exception& error) {
                              result.error = error.what();
                            }
                            return result;
                          },
      std::make_shared<std::atomic<bool>>(false), completion_of(env, done)});
}

// ncclId(library): the bytes that name a group
napi_value nccl_id(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  const NcclId id = create_nccl_id(string_of(env, args.value[0]));
  napi_value buffer, view;
  void* data = nullptr;
  check(env, napi_create_arraybuffer(env, id.size(), &data, &buffer));
  std::memcpy(data, id.data(), id.size());
  check(env, napi_create_typedarray(env, napi_uint8_array, id.size(), buffer, 0, &view));
  return view;
}

// joinNccl(engine, library, id, rank, ranks, done): a handle that works when `done` was called
napi_value join_nccl(napi_env env, napi_callback_info info) {
  Args<6> args(env, info);
  Engine& engine = engine_of(env, args.value[0]);
  const auto bytes = bytes_of(env, args.value[2]);
  NcclId id{};
  if (bytes.count != id.size()) throw std::runtime_error("a group of NCCL is named by 128 bytes");
  std::memcpy(id.data(), bytes.data, id.size());
  auto* handle = new NcclHandle;
  napi_value value = make_external(env, handle);
  enqueue(env, engine, args.value[5],
      [handle, card = engine.card, library = string_of(env, args.value[1]), id,
          rank = int(number_of(env, args.value[3])), ranks = int(number_of(env, args.value[4]))] {
        handle->communicator = std::make_shared<Communicator>(card, library, id, rank, ranks);
      });
  return value;
}

std::vector<CardBytes> parts_of(napi_env env, napi_value list) {
  std::vector<CardBytes> parts;
  uint32_t count = 0;
  check(env, napi_get_array_length(env, list, &count));
  for (uint32_t i = 0; i < count; i++) {
    napi_value element;
    check(env, napi_get_element(env, list, i, &element));
    napi_valuetype type;
    check(env, napi_typeof(env, element, &type));
    if (type != napi_external) {
      parts.push_back({});
      continue;
    }
    const auto& buffer = external_of<BufferHandle>(env, element);
    parts.push_back({buffer.data(), buffer.bytes});
  }
  return parts;
}

// exchange(engine, group, sent, received, done): parts for and from each rank, null for none. JavaScript
// keeps them alive.
napi_value exchange(napi_env env, napi_callback_info info) {
  Args<5> args(env, info);
  auto communicator = external_of<NcclHandle>(env, args.value[1]).communicator;
  if (!communicator) throw std::runtime_error("the ranks have not joined yet");
  enqueue(env, engine_of(env, args.value[0]), args.value[4],
      [communicator, sent = parts_of(env, args.value[2]), received = parts_of(env, args.value[3])] {
        communicator->exchange(sent, received);
      });
  return make_undefined(env);
}

// abortNccl(group)
napi_value abort_nccl(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  if (auto& communicator = external_of<NcclHandle>(env, args.value[0]).communicator) communicator->abort();
  return make_undefined(env);
}

napi_value initialise(napi_env env, napi_value exports) {
  auto* environment = new Environment;
  napi_set_instance_data(
      env, environment, [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); }, nullptr);
  napi_add_env_cleanup_hook(
      env, [](void* data) { static_cast<Environment*>(data)->engines.clear(); }, environment);
  try {
    export_function<cards>(env, exports, "cards");
    export_function<launchers>(env, exports, "launchers");
    export_function<create_engine>(env, exports, "createEngine");
    export_function<close_engine>(env, exports, "closeEngine");
    export_function<free_bytes>(env, exports, "freeBytes");
    export_function<scratch_bytes>(env, exports, "scratchBytes");
    export_function<scratch_bound>(env, exports, "scratchBound");
    export_function<launches>(env, exports, "launches");
    export_function<allocate>(env, exports, "allocate");
    export_function<part>(env, exports, "part");
    export_function<copy_up>(env, exports, "copyUp");
    export_function<copy_down>(env, exports, "copyDown");
    export_function<clear>(env, exports, "clear");
    export_function<compile>(env, exports, "compile");
    export_function<bind>(env, exports, "bind");
    export_function<run>(env, exports, "run");
    export_function<run_queue>(env, exports, "runQueue");
    export_function<cancel>(env, exports, "cancel");
    export_function<nccl_id>(env, exports, "ncclId");
    export_function<join_nccl>(env, exports, "joinNccl");
    export_function<exchange>(env, exports, "exchange");
    export_function<abort_nccl>(env, exports, "abortNccl");
  } catch (const Pending&) {
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return exports;
}

}  // namespace

}  // namespace cairn::device

NAPI_MODULE_INIT() { return cairn::device::initialise(env, exports); }
