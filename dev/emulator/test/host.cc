// A program that knows nothing but dlopen("libcuda.so.1"): loads PTX, launches one kernel, brings buffers
// back.
//
//   host MODULE KERNEL GRID BLOCK SHARED ARGUMENT…
//
// GRID and BLOCK are x,y,z. An argument is u32:N, u64:N, f32:N, or buffer:FILE, whose bytes go to the device
// and come back; buffer:FILE@N is the address N bytes into it. With GRAPH=N the launch is captured once and
// played N times. The exit status is the driver's first error.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

void* library;

template <class... A>
void call(const char* name, A... arguments) {
  auto function = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
  if (!function) {
    std::fprintf(stderr, "no %s\n", name);
    std::exit(255);
  }
  int code = function(arguments...);
  if (!code) return;
  const char* text = nullptr;
  reinterpret_cast<int (*)(int, const char**)>(dlsym(library, "cuGetErrorName"))(code, &text);
  std::printf("%s: %s\n", name, text);
  std::exit(code & 255 ? code & 255 : 254);
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void read_shape(const char* text, unsigned* shape) {
  std::sscanf(text, "%u,%u,%u", shape, shape + 1, shape + 2);
}

struct Buffer {
  std::string path;
  unsigned long long at;
  std::vector<char> bytes;
};

}  // namespace

int main(int count, char** words) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    std::puts("no CUDA driver");
    return 253;
  }
  void *context = nullptr, *module = nullptr, *kernel = nullptr, *stream = nullptr;
  int device = 0;
  call("cuInit", 0u);
  call("cuDeviceGet", &device, 0);
  call("cuDevicePrimaryCtxRetain", &context, device);
  call("cuCtxSetCurrent", context);
  call("cuStreamCreate", &stream, 0u);
  std::vector<char> image = read_file(words[1]);
  image.push_back(0);
  call("cuModuleLoadData", &module, static_cast<const void*>(image.data()));
  call("cuModuleGetFunction", &kernel, module, static_cast<const char*>(words[2]));
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared = unsigned(std::atoi(words[5]));
  read_shape(words[3], grid);
  read_shape(words[4], block);
  if (shared > 48 * 1024) call("cuFuncSetAttribute", kernel, 8, int(shared));
  std::vector<Buffer> buffers;
  std::vector<unsigned long long> values;
  for (int k = 6; k < count; ++k) {
    std::string word = words[k], kind = word.substr(0, word.find(':')), rest = word.substr(kind.size() + 1);
    unsigned long long value = std::strtoull(rest.c_str(), nullptr, 0);
    if (kind == "f32") {
      float number = std::strtof(rest.c_str(), nullptr);
      value = 0;
      std::memcpy(&value, &number, 4);
    } else if (kind == "buffer") {
      size_t mark = rest.find('@');
      Buffer buffer{rest.substr(0, mark), 0, {}};
      buffer.bytes = read_file(buffer.path);
      call("cuMemAlloc_v2", &buffer.at, buffer.bytes.size());
      call("cuMemcpyHtoD_v2", buffer.at, static_cast<const void*>(buffer.bytes.data()), buffer.bytes.size());
      value =
          buffer.at + (mark == std::string::npos ? 0 : std::strtoull(rest.c_str() + mark + 1, nullptr, 0));
      buffers.push_back(buffer);
    }
    values.push_back(value);
  }
  std::vector<void*> arguments;
  for (auto& value : values) arguments.push_back(&value);
  const char* times = std::getenv("GRAPH");
  if (times) call("cuStreamBeginCapture_v2", stream, 1);
  call("cuLaunchKernel", kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream,
      arguments.data(), static_cast<void**>(nullptr));
  if (times) {
    void *graph = nullptr, *instance = nullptr;
    call("cuStreamEndCapture", stream, &graph);
    call("cuGraphInstantiateWithFlags", &instance, graph, 0ull);
    for (int k = 0; k < std::atoi(times); ++k) call("cuGraphLaunch", instance, stream);
    call("cuGraphExecDestroy", instance);
    call("cuGraphDestroy", graph);
  }
  call("cuStreamSynchronize", stream);
  for (Buffer& buffer : buffers) {
    call("cuMemcpyDtoH_v2", static_cast<void*>(buffer.bytes.data()), buffer.at, buffer.bytes.size());
    std::ofstream(buffer.path, std::ios::binary).write(buffer.bytes.data(), long(buffer.bytes.size()));
    call("cuMemFree_v2", buffer.at);
  }
  call("cuModuleUnload", module);
  call("cuStreamDestroy_v2", stream);
  call("cuDevicePrimaryCtxRelease_v2", device);
  return 0;
}
