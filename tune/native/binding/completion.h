// Notifies JavaScript at the end of a run, from the thread that ran it.
#pragma once
#include <functional>
#include <memory>

#include "napi.h"
#include "program.h"

namespace cairn::binding {

// Called at the end of a run. Calls callback(error, cancelled, nanoseconds by op) on the main thread.
std::function<void(RunResult)> completion_of(napi_env env, napi_value callback);

}  // namespace cairn::binding
