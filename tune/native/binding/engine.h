// An engine: the pool, its scratch and the one thread that walks programs.
#pragma once
#include <memory>

#include "isa.h"
#include "program.h"
#include "walker.h"

namespace cairn::binding {

class Engine {
 public:
  Engine(int threads, Isa isa) : isa_(isa), pool_(threads), scratch_(threads) {}

  // Runs are queued. `done` is called on the engine's thread.
  void enqueue(std::shared_ptr<const Bound> bound, std::shared_ptr<std::atomic<bool>> cancel,
      std::function<void(RunResult)> done) {
    walker_.enqueue({[this, bound](const std::atomic<bool>& stop) {
                       return run_program(*bound, isa_.kernels, pool_, scratch_, stop);
                     },
        std::move(cancel), std::move(done)});
  }
  size_t scratch_bytes() const { return scratch_.bytes(); }
  int threads() const { return pool_.size(); }
  const Isa& isa() const { return isa_; }

 private:
  Isa isa_;
  Pool pool_;
  Scratch scratch_;
  // Declared last, so that its thread ends before the members it uses.
  Walker walker_;
};

}  // namespace cairn::binding
