#include "driver.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <stdexcept>

namespace cairn::device {

namespace {

Driver open_driver(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    throw std::runtime_error("no CUDA driver found: " + std::string(why ? why : path.c_str()));
  }
  Driver driver;
#define CAIRN_DRIVER_FIND(symbol, name, parameters)                                                          \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, symbol));                             \
  if (!driver.name)                                                                                          \
    throw std::runtime_error("the CUDA driver " + path + " has no " symbol "; it must be 12.0 or newer");
  CAIRN_DRIVER(CAIRN_DRIVER_FIND)
#undef CAIRN_DRIVER_FIND
  const CUresult result = driver.init(0);
  if (result == kNoDevice) throw std::runtime_error("the CUDA driver " + path + " found no card");
  check_driver(driver, result, "starting the CUDA driver");
  return driver;
}

}  // namespace

const Driver& driver_at(const std::string& path) {
  static std::mutex mutex;
  // Never closed: a driver cannot be started twice in one process.
  static auto& drivers = *new std::map<std::string, Driver>;
  std::lock_guard lock(mutex);
  auto known = drivers.find(path);
  if (known == drivers.end()) known = drivers.emplace(path, open_driver(path)).first;
  return known->second;
}

void check_driver(const Driver& driver, CUresult result, const char* doing) {
  if (result == kSuccess) return;
  const char *name = nullptr, *text = nullptr;
  driver.error_name(result, &name);
  driver.error_string(result, &text);
  throw std::runtime_error(std::string(doing) + ": " + (name ? name : std::to_string(result).c_str()) +
                           (text ? std::string(", ") + text : std::string()));
}

}  // namespace cairn::device
