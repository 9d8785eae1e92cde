#pragma once
#include <node_api.h>

namespace cairn::binding {
void export_touch_pages(napi_env env, napi_value exports);
}
