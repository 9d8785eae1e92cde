// A fixed set of threads that share the tasks of one op.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn {

// Processors that this process may run on.
int processor_count();

class Pool {
 public:
  using Task = void (*)(void* context, int64_t index, int thread);

  // The caller of run() is one of the threads.
  explicit Pool(int threads);
  // Stops and joins the threads. A condition variable must not be destroyed while threads wait on it, so this
  // runs before the process ends.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int size() const { return int(workers_.size()) + 1; }
  // Calls task(context, i, thread) once for every i below count, on any thread. Returns when all are done.
  void run(int64_t count, Task task, void* context);

 private:
  void work(int thread);
  void take_tasks(int thread);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  // Workers that run tasks or check whether they may.
  std::atomic<int> busy_{0};
  std::atomic<bool> is_open_{false};
  std::atomic<bool> stopping_{false};
  Task task_ = nullptr;
  void* context_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
};

}  // namespace cairn
