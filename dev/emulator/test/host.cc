// A program that knows nothing but dlopen("libcuda.so.1"): loads PTX, launches one kernel, brings buffers
// back.
//
//   host MODULE KERNEL GRID BLOCK SHARED ARGUMENT…
//
// GRID and BLOCK are x,y,z. An argument is u32:N, u64:N, f32:N, or buffer:FILE, whose bytes go to the device
// and come back; buffer:FILE@N passes the address of its byte N. memory:FILE is a buffer that is no argument
// of the kernel. map:K/TYPE/SWIZZLE/SIZES/STRIDES/TILE is a tensor map of buffer K, with numbers of NVIDIA's
// enumerations and lists such as 64x32; with /freed at its end the buffer is freed before the launch. With
// GRAPH=N the launch is captured once and played N times. ATTRIBUTES=4:2x1x1,6:1 launches with attributes of
// these numbers. The exit status is the driver's first error.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <sstream>
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

struct alignas(128) TensorMap {
  char bytes[128];
};

struct Attribute {
  int id, pad;
  alignas(8) unsigned value[16];
};

struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
  Attribute* attributes;
  unsigned count;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

template <class T>
std::vector<T> read_list(const std::string& text) {
  std::vector<T> numbers;
  for (const std::string& part : split(text, 'x'))
    numbers.push_back(T(std::strtoull(part.c_str(), nullptr, 0)));
  return numbers;
}

void encode_map(const std::string& text, std::vector<Buffer>& buffers, TensorMap* map) {
  std::vector<std::string> parts = split(text, '/');
  Buffer& buffer = buffers.at(std::stoul(parts[0]));
  auto sizes = read_list<unsigned long long>(parts[3]), strides = read_list<unsigned long long>(parts[4]);
  auto tile = read_list<unsigned>(parts[5]);
  std::vector<unsigned> steps(sizes.size(), 1);
  call("cuTensorMapEncodeTiled", static_cast<void*>(map), unsigned(std::stoul(parts[1])),
      unsigned(sizes.size()), reinterpret_cast<void*>(buffer.at),
      static_cast<const unsigned long long*>(sizes.data()),
      static_cast<const unsigned long long*>(strides.data()), static_cast<const unsigned*>(tile.data()),
      static_cast<const unsigned*>(steps.data()), 0u, unsigned(std::stoul(parts[2])), 0u, 0u);
  if (parts.size() < 7) return;
  call("cuMemFree_v2", buffer.at);
  buffer.at = 0;
}

std::vector<Attribute> read_attributes(const char* text) {
  std::vector<Attribute> attributes;
  for (const std::string& part : split(text, ',')) {
    Attribute attribute{};
    attribute.id = std::atoi(part.c_str());
    unsigned* to = attribute.value;
    for (unsigned number : read_list<unsigned>(part.substr(part.find(':') + 1))) *to++ = number;
    attributes.push_back(attribute);
  }
  return attributes;
}

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
  std::deque<unsigned long long> values;
  std::deque<TensorMap> maps;
  std::vector<void*> arguments;
  for (int k = 6; k < count; ++k) {
    std::string word = words[k], kind = word.substr(0, word.find(':')), rest = word.substr(kind.size() + 1);
    if (kind == "map") {
      encode_map(rest, buffers, &maps.emplace_back());
      arguments.push_back(&maps.back());
      continue;
    }
    unsigned long long value = std::strtoull(rest.c_str(), nullptr, 0);
    if (kind == "f32") {
      float number = std::strtof(rest.c_str(), nullptr);
      value = 0;
      std::memcpy(&value, &number, 4);
    } else if (kind == "buffer" || kind == "memory") {
      size_t mark = rest.find('@');
      Buffer buffer{rest.substr(0, mark), 0, {}};
      buffer.bytes = read_file(buffer.path);
      call("cuMemAlloc_v2", &buffer.at, buffer.bytes.size());
      call("cuMemcpyHtoD_v2", buffer.at, static_cast<const void*>(buffer.bytes.data()), buffer.bytes.size());
      value =
          buffer.at + (mark == std::string::npos ? 0 : std::strtoull(rest.c_str() + mark + 1, nullptr, 0));
      buffers.push_back(buffer);
    }
    if (kind != "memory") arguments.push_back(&values.emplace_back(value));
  }
  const char* times = std::getenv("GRAPH");
  if (times) call("cuStreamBeginCapture_v2", stream, 1);
  void** none = nullptr;
  if (const char* text = std::getenv("ATTRIBUTES")) {
    std::vector<Attribute> attributes = read_attributes(text);
    Config config{{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, stream,
        attributes.data(), unsigned(attributes.size())};
    call("cuLaunchKernelEx", static_cast<const Config*>(&config), kernel, arguments.data(), none);
  } else {
    call("cuLaunchKernel", kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, stream,
        arguments.data(), none);
  }
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
    if (!buffer.at) continue;
    call("cuMemcpyDtoH_v2", static_cast<void*>(buffer.bytes.data()), buffer.at, buffer.bytes.size());
    std::ofstream(buffer.path, std::ios::binary).write(buffer.bytes.data(), long(buffer.bytes.size()));
    call("cuMemFree_v2", buffer.at);
  }
  call("cuModuleUnload", module);
  call("cuStreamDestroy_v2", stream);
  call("cuDevicePrimaryCtxRelease_v2", device);
  return 0;
}
