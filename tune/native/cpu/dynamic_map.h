// The 8-bit dynamic maps, bit-identical to those of tune/ops/src/codecs/dynamic-map.ts.
#pragma once
#include <cstdint>

namespace cairn {
namespace {

// Seven decades in ascending order. The one that ends at 1 has 64 values of each sign (128 if there is one
// sign), each lower decade half as many; then zero and one are added.
inline void dynamic_map(bool is_signed, float* map) {
  constexpr float sizes[7] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 0.1f, 1};
  int count = 0;
  auto insert = [&](float value) {
    int at = count++;
    for (; at > 0 && map[at - 1] > value; at--) map[at] = map[at - 1];
    map[at] = value;
  };
  insert(0);
  insert(1);
  for (int decade = 0; decade < 7; decade++) {
    const int steps = is_signed ? 1 << decade : 2 << decade;
    const float step = (1.0f - 0.1f) / float(steps);
    // Bounds of the steps, counted from the nearer end and rounded once.
    auto bound = [&](int i) {
      return i < (steps + 1) / 2 ? float(double(0.1f) + double(step) * i)
                                 : float(1.0 - double(step) * (steps - i));
    };
    for (int i = 0; i < steps; i++) {
      const float value = (bound(i) + bound(i + 1)) / 2.0f * sizes[decade];
      insert(value);
      if (is_signed) insert(-value);
    }
  }
}

}  // namespace
}  // namespace cairn
