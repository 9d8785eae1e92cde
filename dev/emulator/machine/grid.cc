// Distributes the blocks of a launch over host threads, and reads settings from the environment.
#include "block.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace emulator {
namespace {

u32 count_threads() {
  static const u32 count = [] {
    const char* text = std::getenv("CAIRN_EMULATOR_THREADS");
    return std::max(1u, text ? u32(std::atoi(text)) : std::thread::hardware_concurrency());
  }();
  return count;
}

}  // namespace

void run_grid(const Launch& launch, Counts& counts) {
  static std::mutex one_at_a_time;
  std::lock_guard alone(one_at_a_time);
  u64 blocks = u64(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  u64 failed_block = ~0ull;
  // Blocks live as long as their thread, so that their storage is reused across launches.
  auto work = [&](Block& block) {
    block.counts = {};
    for (u64 index; (index = next.fetch_add(1)) < blocks;) {
      try {
        block.run(launch, {u32(index % launch.grid[0]), u32(index / launch.grid[0] % launch.grid[1]),
                              u32(index / launch.grid[0] / launch.grid[1])});
      } catch (...) {
        next = blocks;
        std::lock_guard lock(mutex);
        if (index < failed_block) failure = std::current_exception();
        failed_block = std::min(failed_block, index);
      }
    }
    std::lock_guard lock(mutex);
    counts.add(block.counts);
  };
  static std::vector<std::unique_ptr<Block>> kept;
  u32 threads = u32(std::min<u64>(count_threads(), blocks));
  while (kept.size() < threads) kept.push_back(std::make_unique<Block>());
  std::vector<std::thread> others;
  for (u32 i = 1; i < threads; ++i) others.emplace_back([&, i] { work(*kept[i]); });
  work(*kept[0]);
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

const Settings& Settings::get() {
  static const Settings settings = [] {
    Settings read;
    auto text = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    std::string copies = text("CAIRN_EMULATOR_COPIES");
    read.copies = copies == "at-once" ? Copies::at_once : copies == "drawn" ? Copies::drawn : Copies::late;
    read.shuffles_warps = !text("CAIRN_EMULATOR_SEED").empty();
    read.seed = std::strtoull(text("CAIRN_EMULATOR_SEED").c_str(), nullptr, 10);
    read.counts = !text("CAIRN_EMULATOR_COUNTS").empty() || !text("CAIRN_EMULATOR_LAUNCHES").empty();
    return read;
  }();
  return settings;
}

}  // namespace emulator
