#include "engine.h"

namespace cairn::binding {

Engine::Engine(int threads, Isa isa)
    : isa_(isa), pool_(threads), scratch_(threads), walker_([this] { walk(); }) {}

Engine::~Engine() {
  std::deque<Run> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
    if (running_) running_->store(true);
  }
  wake_.notify_all();
  walker_.join();
  for (Run& run : dropped) {
    RunResult result;
    result.cancelled = true;
    run.done(std::move(result));
  }
}

void Engine::enqueue(Run run) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(run));
  }
  wake_.notify_all();
}

void Engine::walk() {
  while (true) {
    Run run;
    {
      std::unique_lock lock(mutex_);
      running_.reset();
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      run = std::move(waiting_.front());
      waiting_.pop_front();
      running_ = run.cancel;
    }
    run.done(run_program(*run.bound, isa_.kernels, pool_, scratch_, *run.cancel));
  }
}

}  // namespace cairn::binding
