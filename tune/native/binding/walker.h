// A thread that works through runs one after the other, apart from Node's event loop.
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
    // Called after it on the same thread, or where it was dropped.
    std::function<void(RunResult)> done;
  };

  Walker() : thread_([this] { walk(); }) {}
  // Finishes what cannot be cancelled of the run at hand, drops what waits, joins the thread.
  ~Walker();

  // Runs wait for one another.
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
