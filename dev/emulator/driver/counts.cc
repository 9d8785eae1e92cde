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

// The file that a variable names, or null.
std::FILE* open_named(const char* variable, const char* mode) {
  const char* path = std::getenv(variable);
  if (!path) return nullptr;
  std::FILE* file = std::fopen(path, mode);
  if (!file) std::fprintf(stderr, "cairn emulator: %s cannot be written\n", path);
  return file;
}

// If CAIRN_EMULATOR_COUNTS names a file, the table is written to it when the process ends. If
// CAIRN_EMULATOR_LAUNCHES names one, a line is appended to it for each launch.
struct Table {
  std::mutex mutex;
  std::map<std::string, Row> rows;
  std::FILE* launches = open_named("CAIRN_EMULATOR_LAUNCHES", "a");
  ~Table() {
    if (launches) std::fclose(launches);
    if (rows.empty()) return;
    if (std::FILE* file = open_named("CAIRN_EMULATOR_COUNTS", "w")) {
      std::fputs(write_counts().c_str(), file);
      std::fclose(file);
    }
  }
};

Table& table() {
  static Table made;
  return made;
}

std::string fields_of(const Counts& c) {
  const std::pair<const char*, u64> values[] = {{"warp_instructions", c.warp_instructions}, {"mma", c.mma},
      {"shared_phases", c.shared_phases}, {"shared_passes", c.shared_passes},
      {"ldmatrix_phases", c.ldmatrix_phases}, {"ldmatrix_passes", c.ldmatrix_passes},
      {"global_bytes", c.global_bytes}, {"global_sectors", c.global_sectors}};
  std::string text;
  for (const auto& [key, value] : values)
    text += ", \"" + std::string(key) + "\": " + std::to_string(value);
  return text;
}

}  // namespace

void add_counts(const std::string& kernel, const Counts& counts) {
  std::lock_guard lock(table().mutex);
  Row& row = table().rows[kernel];
  ++row.launches;
  row.counts.add(counts);
  if (std::FILE* file = table().launches) {
    std::fprintf(file, "{ \"kernel\": \"%s\"%s }\n", kernel.c_str(), fields_of(counts).c_str());
    std::fflush(file);
  }
}

std::string write_counts() {
  std::string text = "{";
  for (const auto& [name, row] : table().rows) {
    text += text.size() > 1 ? ",\n" : "\n";
    text += "  \"" + name + "\": { \"launches\": " + std::to_string(row.launches);
    text += fields_of(row.counts) + " }";
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
