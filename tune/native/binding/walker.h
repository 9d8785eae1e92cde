// A thread that executes runs one after the other, off Node's event loop.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "program.h"

namespace cairn::binding {

class Walker {
 public:
  struct Run {
    // Called on the walker's thread.
    std::function<RunResult(const std::atomic<bool>& cancel)> work;
    std::shared_ptr<std::atomic<bool>> cancel;
    // Called afterwards on the same thread, or when the run was dropped.
    std::function<void(RunResult)> done;
  };

  Walker() : thread_([this] { walk(); }) {}
  // Finishes the uncancellable part of the current run, drops queued runs, joins the thread.
  ~Walker();

  // Runs are queued.
  void enqueue(Run run);

 private:
  void walk();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Run> waiting_;
  std::shared_ptr<std::atomic<bool>> running_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cairn::binding
