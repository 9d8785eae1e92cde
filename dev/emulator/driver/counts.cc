#include "counts.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "api.h"

namespace emulator {
namespace {

struct Row {
  u64 launches = 0;
  Counts counts;
};

// If CAIRN_EMULATOR_COUNTS names a file, the table is written to it when the process ends.
struct Table {
  std::mutex mutex;
  std::map<std::string, Row> rows;
  ~Table() {
    const char* path = std::getenv("CAIRN_EMULATOR_COUNTS");
    if (!path || rows.empty()) return;
    if (std::FILE* file = std::fopen(path, "w")) {
      std::fputs(write_counts().c_str(), file);
      std::fclose(file);
    } else {
      std::fprintf(stderr, "cairn emulator: %s cannot be written\n", path);
    }
  }
};

Table& table() {
  static Table made;
  return made;
}

}  // namespace

void add_counts(const std::string& kernel, const Counts& counts) {
  std::lock_guard lock(table().mutex);
  Row& row = table().rows[kernel];
  ++row.launches;
  row.counts.add(counts);
}

std::string write_counts() {
  std::string text = "{";
  for (const auto& [name, row] : table().rows) {
    text += text.size() > 1 ? ",\n" : "\n";
    text += "  \"" + name + "\": { \"launches\": " + std::to_string(row.launches);
    const Counts& c = row.counts;
    const std::pair<const char*, u64> values[] = {{"warp_instructions", c.warp_instructions}, {"mma", c.mma},
        {"shared_phases", c.shared_phases}, {"shared_passes", c.shared_passes},
        {"ldmatrix_phases", c.ldmatrix_phases}, {"ldmatrix_passes", c.ldmatrix_passes},
        {"global_bytes", c.global_bytes}, {"global_sectors", c.global_sectors}};
    for (const auto& [key, value] : values)
      text += ", \"" + std::string(key) + "\": " + std::to_string(value);
    text += " }";
  }
  return text + "\n}\n";
}

}  // namespace emulator

/// The counts so far, as JSON. The text is valid until the next call. Not part of NVIDIA's interface.
CUDA_API const char* cairnEmulatorCounts() {
  static thread_local std::string text;
  text = emulator::write_counts();
  return text.c_str();
}
