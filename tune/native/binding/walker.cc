#include "walker.h"

namespace cairn::binding {

Walker::~Walker() {
  std::deque<Run> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
    if (running_) running_->store(true);
  }
  wake_.notify_all();
  thread_.join();
  for (Run& run : dropped) {
    RunResult result;
    result.cancelled = true;
    run.done(std::move(result));
  }
}

void Walker::enqueue(Run run) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(run));
  }
  wake_.notify_all();
}

void Walker::walk() {
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
    run.done(run.work(*run.cancel));
  }
}

}  // namespace cairn::binding
