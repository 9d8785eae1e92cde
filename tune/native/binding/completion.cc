#include "completion.h"

namespace cairn::binding {

namespace {

// Data passed from the engine's thread back to JavaScript.
struct Completion {
  napi_threadsafe_function callback;
  RunResult result;
};

void complete(napi_env env, napi_value callback, void*, void* data) {
  std::unique_ptr<Completion> completion(static_cast<Completion*>(data));
  napi_release_threadsafe_function(completion->callback, napi_tsfn_release);
  // The environment is being destroyed, so there is no one to notify.
  if (!env) return;
  napi_value undefined, arguments[3], buffer;
  void* bytes = nullptr;
  size_t size = completion->result.spent.size() * sizeof(double);
  napi_get_undefined(env, &undefined);
  arguments[0] = undefined;
  if (!completion->result.error.empty()) {
    napi_value text;
    napi_create_string_utf8(env, completion->result.error.data(), completion->result.error.size(), &text);
    napi_create_error(env, nullptr, text, &arguments[0]);
  }
  napi_get_boolean(env, completion->result.cancelled, &arguments[1]);
  napi_create_arraybuffer(env, size, &bytes, &buffer);
  std::memcpy(bytes, completion->result.spent.data(), size);
  napi_create_typedarray(env, napi_float64_array, completion->result.spent.size(), buffer, 0, &arguments[2]);
  napi_call_function(env, undefined, callback, 3, arguments, nullptr);
}

}  // namespace

std::function<void(RunResult)> completion_of(napi_env env, napi_value callback) {
  napi_threadsafe_function function;
  check(env, napi_create_threadsafe_function(env, callback, nullptr, make_string(env, "cairn run"), 0, 1,
                 nullptr, nullptr, nullptr, complete, &function));
  return [function](RunResult result) {
    auto completion = std::make_unique<Completion>(Completion{function, std::move(result)});
    // Fails only while the environment closes.
    if (napi_call_threadsafe_function(function, completion.get(), napi_tsfn_blocking) == napi_ok)
      completion.release();
  };
}

}  // namespace cairn::binding
