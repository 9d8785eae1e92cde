// Launches of a gated unit by itself, for ops that it is a part of.
#pragma once
#include "multiply.h"

namespace cairn::device {

void unit_forward(
    DeviceCall& call, const char* kernel, const Tensor& gate, const Tensor& up, const Tensor& y);
// dgate may be dy.
void unit_backward(DeviceCall& call, const char* kernel, const Tensor& dy, const Tensor& gate,
    const Tensor& up, const Tensor& dgate, const Tensor& dup);

}  // namespace cairn::device
