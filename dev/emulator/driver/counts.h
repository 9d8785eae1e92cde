// Operation counts by kernel name, over the life of the process.
#pragma once
#include <string>

#include "../machine/block.h"

namespace emulator {

void add_counts(const std::string& kernel, const Counts& counts);
/// A JSON object: a kernel's name, its launches and counts.
std::string write_counts();

}  // namespace emulator
