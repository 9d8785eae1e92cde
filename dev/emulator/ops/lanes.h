// Turns a function of one lane into an instruction: a loop over 32 lanes that the compiler vectorises.
// Inactive lanes keep their value.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "../machine/block.h"
#include "../machine/decode.h"

namespace emulator {

template <class F, class R, class... A>
inline void map_lanes(Mask mask, R* to, const A*... from) {
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) to[lane] = F{}(from[lane]...);
  } else {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      R result = F{}(from[lane]...);
      to[lane] = mask >> lane & 1 ? result : to[lane];
    }
  }
}

template <class F, class R, class A>
void map1(Warp& w, const Instruction& i) {
  map_lanes<F>(w.mask, w.at<R>(i.to), w.at<const A>(i.a));
}
template <class F, class R, class A, class B>
void map2(Warp& w, const Instruction& i) {
  map_lanes<F>(w.mask, w.at<R>(i.to), w.at<const A>(i.a), w.at<const B>(i.b));
}
template <class F, class R, class A, class B, class C>
void map3(Warp& w, const Instruction& i) {
  map_lanes<F>(w.mask, w.at<R>(i.to), w.at<const A>(i.a), w.at<const B>(i.b), w.at<const C>(i.c));
}

/// A mask of the lanes for which F holds.
template <class F, class... A>
inline Mask test_lanes(const A*... from) {
  Mask result = 0;
  for (int lane = 0; lane < kLanes; ++lane) result |= Mask(F{}(from[lane]...)) << lane;
  return result;
}

inline void set_predicate(Warp& w, u32 slot, Mask value) {
  Mask& to = w.predicate(slot);
  to = (to & ~w.mask) | (value & w.mask);
}

template <class Visit>
inline void each_lane(Mask mask, Visit visit) {
  for (; mask; mask &= mask - 1) visit(u32(std::countr_zero(mask)));
}

}  // namespace emulator
