#include "card.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace cairn::device {

DeviceInfo describe_card(const Driver& driver, int ordinal) {
  int count = 0;
  check_driver(driver, driver.device_count(&count), "counting cards");
  if (ordinal < 0 || ordinal >= count)
    throw std::runtime_error("card " + std::to_string(ordinal) + " does not exist; the driver reports " +
                             std::to_string(count));
  CUdevice device = 0;
  check_driver(driver, driver.device_get(&device, ordinal), "opening the card");
  const auto attribute = [&](int which) {
    int value = 0;
    check_driver(driver, driver.device_attribute(&value, which, device), "asking what the card is");
    return value;
  };
  DeviceInfo info;
  char name[256] = {};
  check_driver(driver, driver.device_name(name, sizeof name, device), "asking the card's name");
  info.name = name;
  info.is_emulated = info.name.find("emulator") != std::string::npos;
  info.capability = attribute(kAttributeMajor) * 10 + attribute(kAttributeMinor);
  info.processors = attribute(kAttributeProcessors);
  info.shared_bytes = attribute(kAttributeShared);
  size_t bytes = 0;
  check_driver(driver, driver.device_memory(&bytes, device), "asking the card's memory");
  info.memory_bytes = int64_t(bytes);
  info.multiplies_fp8 = info.capability == 90;
  info.multiplies_fp4 = info.capability == 120;
  return info;
}

namespace {

DeviceInfo info_of(const Driver& driver, int ordinal, const CardOptions& options) {
  DeviceInfo info = describe_card(driver, ordinal);
  info.is_row_invariant = options.is_row_invariant;
  info.is_classic = options.is_classic;
  info.multiplies_fp8 &= options.uses_fp8 && !options.is_classic;
  info.multiplies_fp4 &= options.uses_fp4 && !options.is_classic;
  info.bulk_products = options.bulk_products;
  return info;
}

}  // namespace

Card::Card(const Driver& driver, int ordinal, std::string modules, bool are_text, CardOptions options)
    : driver(driver),
      info(info_of(driver, ordinal, options)),
      modules_(std::move(modules)),
      are_text_(are_text) {
  check_driver(driver, driver.device_get(&device_, ordinal), "opening the card");
  check_driver(driver, driver.context_retain(&context_, device_), "taking the card");
  use();
  check_driver(driver, driver.stream_create(&stream_, kStreamNonBlocking), "making a stream");
  check_driver(driver, driver.stream_create(&copies_, kStreamNonBlocking), "making a stream");
}

// Errors are ignored: they mean that the card is gone.
Card::~Card() {
  driver.context_use(context_);
  driver.stream_wait(stream_);
  for (char* at : allocations_) driver.memory_free(CUdeviceptr(at));
  for (auto& [name, module] : loaded_) driver.module_unload(module);
  driver.stream_destroy(stream_);
  driver.stream_destroy(copies_);
  driver.context_release(device_);
}

void Card::use() const { check_driver(driver, driver.context_use(context_), "turning to the card"); }

void Card::wait(const char* doing) const {
  use();
  check_driver(driver, driver.stream_wait(stream_), doing);
}

char* Card::allocate(size_t bytes, bool zeroed) {
  use();
  CUdeviceptr at = 0;
  const CUresult result = driver.memory_allocate(&at, bytes > 0 ? bytes : 1);
  if (result == kOutOfMemory)
    throw std::runtime_error("cannot allocate " + std::to_string(bytes) + " bytes on the card; " +
                             std::to_string(free_bytes()) + " are free");
  check_driver(driver, result, "allocating memory on the card");
  {
    std::lock_guard lock(mutex_);
    allocations_.insert(reinterpret_cast<char*>(at));
  }
  if (zeroed) clear(reinterpret_cast<char*>(at), bytes);
  return reinterpret_cast<char*>(at);
}

void Card::free(char* at) {
  {
    std::lock_guard lock(mutex_);
    if (allocations_.erase(at) == 0) return;
  }
  driver.context_use(context_);
  driver.memory_free(CUdeviceptr(at));
}

size_t Card::free_bytes() const {
  use();
  size_t free = 0, total = 0;
  check_driver(driver, driver.memory_info(&free, &total), "asking what is free on the card");
  return free;
}

void Card::finish(CUresult given, const char* doing) const {
  check_driver(driver, given, doing);
  check_driver(driver, driver.stream_wait(copies_), doing);
}

void Card::copy_up(char* to, const void* from, size_t bytes) const {
  if (bytes == 0) return;
  use();
  finish(driver.copy_up(CUdeviceptr(to), from, bytes, copies_), "copying to the card");
}

void Card::copy_down(void* to, const char* from, size_t bytes) const {
  if (bytes == 0) return;
  use();
  finish(driver.copy_down(to, CUdeviceptr(from), bytes, copies_), "copying from the card");
}

void Card::clear(char* at, size_t bytes) const {
  if (bytes == 0) return;
  use();
  finish(driver.fill(CUdeviceptr(at), 0, bytes, copies_), "clearing memory of the card");
}

CUfunction Card::function(const std::string& module, const std::string& name, int shared) {
  Function& known = functions_[module + " " + name];
  if (!known.function) {
    use();
    CUmodule handle = load(module);
    check_driver(driver, driver.module_function(&known.function, handle, name.c_str()),
        ("looking for the kernel " + name + " in " + module).c_str());
  }
  // More than 48 KiB must be requested, and the kernel's static memory counts too, so always request it.
  if (shared > known.shared) {
    if (shared > info.shared_bytes)
      throw std::runtime_error("the kernel " + name + " needs " + std::to_string(shared) +
                               " bytes of shared memory, but the card has " +
                               std::to_string(info.shared_bytes));
    check_driver(driver, driver.function_attribute(known.function, kFunctionMaxDynamicShared, shared),
        "raising a kernel's shared memory");
    known.shared = shared;
  }
  return known.function;
}

cuda::TensorMap Card::tensor_map(const BoxedMatrix& matrix) const {
  cuda::TensorMap map;
  const uint64_t sizes[] = {uint64_t(matrix.columns), uint64_t(matrix.rows)},
                 strides[] = {uint64_t(matrix.stride) * 2};
  const unsigned box[] = {kBoxColumns, unsigned(matrix.box_rows)}, steps[] = {1, 1};
  // Without interleave, and with zeros outside the matrix.
  check_driver(driver,
      driver.tensor_map_encode(&map, kTensorMapBf16, 2, CUdeviceptr(matrix.data), sizes, strides, box, steps,
          0, kTensorMapSwizzle128, kTensorMapPromote128, 0),
      "describing a matrix to bulk copies");
  return map;
}

CUmodule Card::load(const std::string& name) {
  CUmodule& module = loaded_[name];
  if (module) return module;
  const std::string path = modules_ + "/" + name + (are_text_ ? ".ptx" : ".cubin");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read the kernels " + path);
  // The text must be null-terminated.
  const std::string image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  char log[4096] = {};
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const CUresult result = driver.module_load(&module, image.c_str(), 2, options, values);
  const std::string details = log[0] ? std::string(": ") + log : "";
  check_driver(driver, result, ("loading the kernels " + path + details).c_str());
  return module;
}

}  // namespace cairn::device
