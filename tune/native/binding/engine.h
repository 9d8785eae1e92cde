// An engine: the pool, its scratch and the one thread that walks programs, apart from Node's event loop.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "isa.h"
#include "program.h"

namespace cairn::binding {

class Engine {
 public:
  Engine(int threads, Isa isa);
  // Finishes the step at hand, drops what waits, joins every thread.
  ~Engine();

  // Calls `done` on the engine's thread. Runs wait for one another.
  struct Run {
    std::shared_ptr<const Bound> bound;
    std::shared_ptr<std::atomic<bool>> cancel;
    std::function<void(RunResult)> done;
  };
  void enqueue(Run run);
  size_t scratch_bytes() const { return scratch_.bytes(); }
  int threads() const { return pool_.size(); }
  const Isa& isa() const { return isa_; }

 private:
  void walk();

  Isa isa_;
  Pool pool_;
  Scratch scratch_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Run> waiting_;
  std::shared_ptr<std::atomic<bool>> running_;
  bool stopping_ = false;
  std::thread walker_;
};

}  // namespace cairn::binding
