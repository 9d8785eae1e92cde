#pragma once
#include <node_api.h>

namespace cairn::binding {
void export_file_map(napi_env env, napi_value exports);
}
