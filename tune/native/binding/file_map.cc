// Files as memory: a weight is read from the page cache, without a copy, and its pages can be released one
// tensor at a time.
#include "file_map.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "napi.h"

namespace cairn::binding {

namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(errno));
}

// Maps an open file, closes it, and returns the mapping to JavaScript.
napi_value map_open(napi_env env, const std::string& path, int file, size_t bytes, int kind) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, file, 0);
  const int error = errno;
  close(file);
  if (data == MAP_FAILED) {
    errno = error;
    fail(path, "cannot map the file");
  }
  auto release = [](napi_env, void* mapped, void* size) { munmap(mapped, reinterpret_cast<size_t>(size)); };
  napi_value buffer;
  check(env,
      napi_create_external_arraybuffer(env, data, bytes, release, reinterpret_cast<void*>(bytes), &buffer));
  return buffer;
}

// mapFile(path): private pages, so that a write from JavaScript changes a copy and never the file.
napi_value map_file(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  const std::string path = string_of(env, args.value[0]);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path, "cannot open the file");
  struct stat status;
  if (fstat(file, &status) != 0 || status.st_size == 0) {
    const int error = errno;
    close(file);
    errno = status.st_size == 0 ? ENODATA : error;
    fail(path, "cannot map the file");
  }
  const size_t bytes = size_t(status.st_size);
  return map_open(env, path, file, bytes, MAP_PRIVATE);
}

// mapSpool(directory, bytes): an unnamed file, deleted with its last view or with the process. Writes to the
// view go to the file. Its disk space is allocated now, because a page without space would later end the
// process.
napi_value map_spool(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  const std::string directory = string_of(env, args.value[0]);
  const size_t bytes = size_t(number_of(env, args.value[1]));
  std::string path = directory + "/.base-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) fail(directory, "cannot create a file here");
  unlink(path.c_str());
#ifdef __linux__
  errno = posix_fallocate(file, 0, off_t(bytes));
#else
  errno = ftruncate(file, off_t(bytes)) == 0 ? 0 : errno;
#endif
  if (errno != 0) {
    const int error = errno;
    close(file);
    errno = error;
    fail(directory, ("no space for " + std::to_string(bytes) + " bytes of weights").c_str());
  }
  return map_open(env, directory, file, bytes, MAP_SHARED);
}

// forgetPages(view): releases the whole pages inside the view. The next read loads them again from the file.
napi_value forget_pages(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  const auto view = bytes_of(env, args.value[0]);
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), start = reinterpret_cast<uintptr_t>(view.data);
  const uintptr_t first = (start + page - 1) / page * page, last = (start + view.count) / page * page;
  // This is only advice: if the system ignores it, the pages stay until the file is unmapped.
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  return make_undefined(env);
}

}  // namespace

void export_file_map(napi_env env, napi_value exports) {
  export_function<map_file>(env, exports, "mapFile");
  export_function<map_spool>(env, exports, "mapSpool");
  export_function<forget_pages>(env, exports, "forgetPages");
}

}  // namespace cairn::binding
