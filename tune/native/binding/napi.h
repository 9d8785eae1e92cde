// Thin helpers over the C Node-API: every call checked, every C++ exception turned into a JavaScript error in
// one place.
#pragma once
#include <node_api.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::binding {

// A JavaScript exception is already pending; the only thing left to do is to unwind to the boundary.
struct Pending {};

inline void check(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (pending) throw Pending{};
  const napi_extended_error_info* info = nullptr;
  napi_get_last_error_info(env, &info);
  throw std::runtime_error(info && info->error_message ? info->error_message : "Node-API call failed");
}

template <size_t N>
struct Args {
  napi_value value[N];
  Args(napi_env env, napi_callback_info info) {
    size_t count = N;
    check(env, napi_get_cb_info(env, info, &count, value, nullptr, nullptr));
    if (count < N)
      throw std::runtime_error("expects " + std::to_string(N) + " arguments, got " + std::to_string(count));
  }
};

template <class T>
struct Span {
  T* data;
  size_t count;
};

// The bytes of a typed array. The caller keeps the array alive.
inline Span<char> bytes_of(napi_env env, napi_value value) {
  bool is_typed = false;
  check(env, napi_is_typedarray(env, value, &is_typed));
  if (!is_typed) throw std::runtime_error("expects a typed array");
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  check(env, napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr));
  static constexpr size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
  return {static_cast<char*>(data), length * (size_t(type) < std::size(sizes) ? sizes[type] : 2)};
}

template <class T>
Span<T> span_of(napi_env env, napi_value value) {
  auto bytes = bytes_of(env, value);
  if (bytes.count % sizeof(T) != 0)
    throw std::runtime_error("expects a typed array of " + std::to_string(sizeof(T)) + "-byte elements");
  return {reinterpret_cast<T*>(bytes.data), bytes.count / sizeof(T)};
}

inline std::string string_of(napi_env env, napi_value value) {
  size_t length = 0;
  check(env, napi_get_value_string_utf8(env, value, nullptr, 0, &length));
  std::string text(length, '\0');
  check(env, napi_get_value_string_utf8(env, value, text.data(), length + 1, &length));
  return text;
}

inline double number_of(napi_env env, napi_value value) {
  double number = 0;
  check(env, napi_get_value_double(env, value, &number));
  return number;
}

inline napi_value make_string(napi_env env, const std::string& text) {
  napi_value value;
  check(env, napi_create_string_utf8(env, text.data(), text.size(), &value));
  return value;
}

inline napi_value make_number(napi_env env, double number) {
  napi_value value;
  check(env, napi_create_double(env, number, &value));
  return value;
}

inline napi_value make_undefined(napi_env env) {
  napi_value value;
  check(env, napi_get_undefined(env, &value));
  return value;
}

template <class T>
napi_value make_external(napi_env env, T* data) {
  napi_value value;
  check(env,
      napi_create_external(
          env, data, [](napi_env, void* owned, void*) { delete static_cast<T*>(owned); }, nullptr, &value));
  return value;
}

template <class T>
T& external_of(napi_env env, napi_value value) {
  void* data = nullptr;
  check(env, napi_get_value_external(env, value, &data));
  return *static_cast<T*>(data);
}

// Wraps a function that may throw into one that Node may call.
template <napi_value (*Body)(napi_env, napi_callback_info)>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    return Body(env, info);
  } catch (const Pending&) {
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

template <napi_value (*Body)(napi_env, napi_callback_info)>
void export_function(napi_env env, napi_value exports, const char* name) {
  napi_value function;
  check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, guarded<Body>, nullptr, &function));
  check(env, napi_set_named_property(env, exports, name, function));
}

}  // namespace cairn::binding
