// Distributes the clusters of a launch over host threads, and reads settings from the environment.
#include "cluster.h"

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
  const auto &grid = launch.grid, &of = launch.cluster;
  u64 clusters = u64(grid[0]) * grid[1] * grid[2] / (of[0] * of[1] * of[2]);
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  u64 failed_cluster = ~0ull;
  // Clusters live as long as their thread, so that their storage is reused across launches.
  auto work = [&](Cluster& cluster) {
    Counts own;
    for (u64 index; (index = next.fetch_add(1)) < clusters;) {
      try {
        cluster.run(launch, index, own);
      } catch (...) {
        next = clusters;
        std::lock_guard lock(mutex);
        if (index < failed_cluster) failure = std::current_exception();
        failed_cluster = std::min(failed_cluster, index);
      }
    }
    std::lock_guard lock(mutex);
    counts.add(own);
  };
  static std::vector<std::unique_ptr<Cluster>> kept;
  u32 threads = u32(std::min<u64>(count_threads(), clusters));
  while (kept.size() < threads) kept.push_back(std::make_unique<Cluster>());
  std::vector<std::thread> others;
  for (u32 i = 1; i < threads; ++i) others.emplace_back([&, i] { work(*kept[i]); });
  work(*kept[0]);
  for (std::thread& thread : others) thread.join();
  finish_dependencies(*launch.code);
  finish_handovers();
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
    read.fp8_sum_bits = std::atoi(text("CAIRN_EMULATOR_FP8_SUMS").c_str());
    read.counts = !text("CAIRN_EMULATOR_COUNTS").empty() || !text("CAIRN_EMULATOR_LAUNCHES").empty();
    return read;
  }();
  return settings;
}

}  // namespace emulator
