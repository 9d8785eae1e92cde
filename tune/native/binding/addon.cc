// The functions that JavaScript sees.
#include <unordered_set>

#include "completion.h"
#include "engine.h"
#include "file_map.h"
#include "memory.h"
#include "napi.h"
#include "scalars.h"
#include "touch_pages.h"

namespace cairn::binding {

namespace {

// Engines of one environment, so that its cleanup can stop those that JavaScript never closed.
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

struct ProgramHandle {
  std::shared_ptr<const Program> program;
};

struct BoundHandle {
  std::shared_ptr<const Bound> bound;
};

struct CancelHandle {
  std::shared_ptr<std::atomic<bool>> cancel;
};

napi_value isas(napi_env env, napi_callback_info) {
  napi_value list;
  check(env, napi_create_array(env, &list));
  uint32_t i = 0;
  for (const Isa& isa : supported_isas())
    check(env, napi_set_element(env, list, i++, make_string(env, isa.name)));
  return list;
}

napi_value processors(napi_env env, napi_callback_info) { return make_number(env, processor_count()); }

napi_value allocate(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  size_t bytes = size_t(number_of(env, args.value[0]));
  void* data = nullptr;
  try {
    data = allocate_aligned(bytes);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("cannot allocate " + std::to_string(bytes) + " bytes");
  }
  napi_value buffer;
  auto release = [](napi_env, void* owned, void* size) {
    free_aligned(owned, reinterpret_cast<size_t>(size));
  };
  check(env,
      napi_create_external_arraybuffer(env, data, bytes, release, reinterpret_cast<void*>(bytes), &buffer));
  return buffer;
}

napi_value create_engine(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  int threads = int(number_of(env, args.value[0]));
  std::string name = string_of(env, args.value[1]);
  if (threads < 1 || threads > 1024)
    throw std::runtime_error("threads must be between 1 and 1024, got " + std::to_string(threads));
  for (const Isa& isa : supported_isas()) {
    if (name != isa.name) continue;
    auto engine = std::make_shared<Engine>(threads, isa);
    environment_of(env).engines.insert(engine);
    return make_external(env, new EngineHandle{engine});
  }
  throw std::runtime_error("this CPU has no kernels for " + name);
}

napi_value close_engine(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  auto& handle = external_of<EngineHandle>(env, args.value[0]);
  environment_of(env).engines.erase(handle.engine);
  handle.engine.reset();
  return make_undefined(env);
}

napi_value scratch_bytes(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return make_number(env, double(engine_of(env, args.value[0]).scratch_bytes()));
}

napi_value scratch_bound_of(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  const Engine& engine = engine_of(env, args.value[0]);
  return make_number(env, double(scratch_bound(*external_of<ProgramHandle>(env, args.value[1]).program,
                              engine.isa().scratch, engine.threads())));
}

napi_value peak(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  const Isa& isa = engine_of(env, args.value[0]).isa();
  return make_number(
      env, isa.peak(string_of(env, args.value[1]) == "bf16" ? Arithmetic::bf16 : Arithmetic::f32));
}

napi_value compile(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  auto code = span_of<int32_t>(env, args.value[0]);
  auto attrs = span_of<double>(env, args.value[1]), places = span_of<double>(env, args.value[2]);
  auto program = std::make_shared<const Program>(
      read_program(code.data, code.count, attrs.data, attrs.count, places.data, places.count));
  return make_external(env, new ProgramHandle{program});
}

// bind(program, arena, bindings): JavaScript keeps the memory alive for as long as it may run.
napi_value bind(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  Bound bound{external_of<ProgramHandle>(env, args.value[0]).program, {}, {}};
  const auto arena = bytes_of(env, args.value[1]);
  bound.arena = {arena.data, int64_t(arena.count)};
  uint32_t count = 0;
  check(env, napi_get_array_length(env, args.value[2], &count));
  for (uint32_t i = 0; i < count; i++) {
    napi_value element;
    check(env, napi_get_element(env, args.value[2], i, &element));
    const auto bytes = bytes_of(env, element);
    bound.bindings.push_back({bytes.data, int64_t(bytes.count)});
  }
  check_bindings(bound);
  return make_external(env, new BoundHandle{std::make_shared<const Bound>(std::move(bound))});
}

napi_value run(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  napi_value handle = make_external(env, new CancelHandle{cancel});
  Engine& engine = engine_of(env, args.value[0]);
  engine.enqueue(
      external_of<BoundHandle>(env, args.value[1]).bound, cancel, completion_of(env, args.value[2]));
  return handle;
}

napi_value cancel(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  external_of<CancelHandle>(env, args.value[0]).cancel->store(true);
  return make_undefined(env);
}

napi_value initialise(napi_env env, napi_value exports) {
  auto* environment = new Environment;
  napi_set_instance_data(
      env, environment, [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); }, nullptr);
  // Threads stop before the environment is destroyed. Instance data is freed later, when no thread runs any
  // more.
  napi_add_env_cleanup_hook(
      env, [](void* data) { static_cast<Environment*>(data)->engines.clear(); }, environment);
  try {
    export_function<isas>(env, exports, "isas");
    export_function<processors>(env, exports, "processors");
    export_function<allocate>(env, exports, "allocate");
    export_function<create_engine>(env, exports, "createEngine");
    export_function<close_engine>(env, exports, "closeEngine");
    export_function<scratch_bytes>(env, exports, "scratchBytes");
    export_function<scratch_bound_of>(env, exports, "scratchBound");
    export_function<peak>(env, exports, "peak");
    export_function<compile>(env, exports, "compile");
    export_function<bind>(env, exports, "bind");
    export_function<run>(env, exports, "run");
    export_function<cancel>(env, exports, "cancel");
    export_scalars(env, exports);
    export_file_map(env, exports);
    export_touch_pages(env, exports);
  } catch (const Pending&) {
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return exports;
}

}  // namespace

}  // namespace cairn::binding

NAPI_MODULE_INIT() { return cairn::binding::initialise(env, exports); }
