// Touches memory before its first use, so that no computation waits for page faults: new memory, and the
// pages of a file that a layer will read next.
#include "touch_pages.h"

#include <cstdint>
#include <memory>

#include <sys/mman.h>
#include <unistd.h>

#include "napi.h"

namespace cairn::binding {

namespace {

// The smallest page size.
constexpr size_t kPage = 4096;

struct Touching {
  Span<char> bytes;
  bool reads;
  napi_ref view = nullptr;
  napi_ref callback = nullptr;
  napi_async_work work = nullptr;
};

// Loads all pages of a file that contain the bytes.
void read_pages(Span<char> bytes) {
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), start = reinterpret_cast<uintptr_t>(bytes.data);
  const uintptr_t first = start / page * page, last = (start + bytes.count + page - 1) / page * page;
  if (first == last) return;
#ifdef MADV_POPULATE_READ
  if (madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_READ) == 0) return;
#endif
  // Before Linux 5.14: request readahead for all pages, then touch each.
  madvise(reinterpret_cast<void*>(first), last - first, MADV_WILLNEED);
  for (size_t at = 0; at < bytes.count; at += kPage) (void)*static_cast<volatile char*>(bytes.data + at);
}

// Runs on one of Node's own threads. Adds zero atomically, because a kernel may already be writing next to
// it.
void touch(napi_env, void* data) {
  const auto& touching = *static_cast<Touching*>(data);
  const Span<char> bytes = touching.bytes;
  if (touching.reads) return read_pages(bytes);
  for (size_t at = 0; at < bytes.count; at += kPage) __atomic_fetch_or(bytes.data + at, 0, __ATOMIC_RELAXED);
}

void touched(napi_env env, napi_status, void* data) {
  std::unique_ptr<Touching> touching(static_cast<Touching*>(data));
  napi_value undefined, callback;
  napi_get_undefined(env, &undefined);
  napi_get_reference_value(env, touching->callback, &callback);
  napi_delete_reference(env, touching->view);
  napi_delete_reference(env, touching->callback);
  napi_delete_async_work(env, touching->work);
  napi_call_function(env, undefined, callback, 0, nullptr, nullptr);
}

napi_value start(napi_env env, napi_callback_info info, bool reads) {
  Args<2> args(env, info);
  auto touching = std::make_unique<Touching>();
  touching->bytes = bytes_of(env, args.value[0]);
  touching->reads = reads;
  check(env, napi_create_reference(env, args.value[0], 1, &touching->view));
  check(env, napi_create_reference(env, args.value[1], 1, &touching->callback));
  check(env, napi_create_async_work(env, nullptr, make_string(env, "cairn touch"), touch, touched,
                 touching.get(), &touching->work));
  check(env, napi_queue_async_work(env, touching->work));
  touching.release();
  return make_undefined(env);
}

// touchPages(view, done)
napi_value touch_pages(napi_env env, napi_callback_info info) { return start(env, info, false); }

// readPages(view, done)
napi_value read_file_pages(napi_env env, napi_callback_info info) { return start(env, info, true); }

}  // namespace

void export_touch_pages(napi_env env, napi_value exports) {
  export_function<touch_pages>(env, exports, "touchPages");
  export_function<read_file_pages>(env, exports, "readPages");
}

}  // namespace cairn::binding
