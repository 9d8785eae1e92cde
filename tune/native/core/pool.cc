#include "pool.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace cairn {

int processor_count() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  int count = int(std::thread::hardware_concurrency());
  return count > 0 ? count : 1;
}

namespace {
// Polls of an idle worker before it sleeps: about 50 µs, longer than the gap between two ops.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace

Pool::Pool(int threads) {
  for (int thread = 1; thread < threads; thread++) workers_.emplace_back([this, thread] { work(thread); });
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    generation_++;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void Pool::run(int64_t count, Task task, void* context) {
  if (count <= 1 || workers_.empty()) {
    for (int64_t i = 0; i < count; i++) task(context, i, 0);
    return;
  }
  task_ = task;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  is_open_.store(true);
  {
    std::lock_guard lock(mutex_);
    generation_++;
  }
  wake_.notify_all();
  take_tasks(0);
  // A worker increments `busy_` before it reads `is_open_`; here `is_open_` is cleared before `busy_` is
  // read. So a worker that is not counted yet takes no task, and workers that sleep or wait for a processor
  // need not be waited for.
  is_open_.store(false);
  for (int spins = 0; busy_.load() > 0; spins++) {
    if (spins < kSpins) relax();
    else std::this_thread::yield();
  }
}

void Pool::take_tasks(int thread) {
  for (int64_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) task_(context_, i, thread);
}

void Pool::work(int thread) {
  uint64_t seen = 0;
  while (true) {
    for (int spins = 0; spins < kSpins && generation_.load(std::memory_order_acquire) == seen; spins++)
      relax();
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load() != seen; });
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_) return;
    busy_.fetch_add(1);
    if (is_open_.load()) take_tasks(thread);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace cairn
