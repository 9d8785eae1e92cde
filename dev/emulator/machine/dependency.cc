#include "dependency.h"

#include <mutex>

namespace emulator {
namespace {

// One launch runs at a time.
std::mutex mutex;
Sectors earlier, current;
bool starts_unfinished = false;

}  // namespace

void Dependency::start(const Code& code) {
  unfinished = code.waits_for_primary && !earlier.empty() ? &earlier : nullptr;
  records = code.launches_dependents;
  lets_start_unfinished = false;
  writes.clear();
}

void Dependency::finish() {
  if (!records) return;
  std::lock_guard lock(mutex);
  current.merge(writes);
  starts_unfinished |= lets_start_unfinished;
}

void finish_dependencies(const Code& code) {
  if (!code.launches_dependents || !starts_unfinished) earlier.clear();
  earlier.merge(current);
  current.clear();
  starts_unfinished = false;
}

}  // namespace emulator
