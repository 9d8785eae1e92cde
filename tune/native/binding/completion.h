// The way back of a run: from the thread that ran it to the callback in JavaScript.
#pragma once
#include <functional>
#include <memory>

#include "napi.h"
#include "program.h"

namespace cairn::binding {

// What ends a run: calls callback(error, cancelled, nanoseconds by op) on the main thread.
std::function<void(RunResult)> completion_of(napi_env env, napi_value callback);

}  // namespace cairn::binding
