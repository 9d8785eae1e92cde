// Neighbouring steps that one launch of thin.cu computes: independent products with few columns.
#pragma once
#include <vector>

#include "../launch.h"
#include "program.h"

namespace cairn::device {

// The number of steps from `first` on that one launch computes, 0 if the first has another kernel. It depends
// on shapes and on what shares memory. `calls` has the arguments of all steps.
size_t count_thin(const Program& program, const std::vector<DeviceCall>& calls, size_t first);

// Launches those steps.
void multiply_thin(const Program& program, std::vector<DeviceCall>& calls, size_t first, size_t count);

}  // namespace cairn::device
