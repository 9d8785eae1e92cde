// Products on the bf16 matrix unit (AMX): a tile register is 16 rows of 64 bytes, and one instruction
// multiplies 16 rows by 32 k with 32 k by 16 columns.
//
// A left tile is 16 rows of 16 words, with each row's words side by side; a right tile is 16 words of 16
// columns, in the usual packed layout. Runs of words are whole tiles, padded with zeros. The instruction sums
// the even and the odd numbers of a tile's k separately and adds both to the previous sum, so a sum depends
// on where tiles of k start: always at a multiple of 16 words of a pair's k.
#pragma once
#include "pack.h"

namespace cairn {
namespace {

constexpr int kTileRows = 16;

#if defined(__AMX_BF16__)

// Configures the tile registers of a thread while an instance lives: all eight with 16 rows of 64 bytes.
class Tiles {
 public:
  Tiles() {
    alignas(64) struct {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } shape;
    asm volatile("ldtilecfg %0" ::"m"(shape));
  }
  ~Tiles() { asm volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// The compiler's intrinsics do not declare that they read and write memory.
template <int tile>
inline void load_tile(const void* from, int64_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(tile) : "memory");
}
template <int tile>
inline void store_tile(void* to, int64_t row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(tile) : "memory");
}
template <int tile>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(tile));
}
// sums += a · b
template <int sums, int a, int b>
inline void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b));
}

// A left side of up to 32 rows. Its tiles of the next k are `step` words further, those of rows 16 … 32
// `half`.
struct LeftTiles {
  const uint32_t* at;
  int64_t row, step, half;
};
// A right side: words are `word` apart, columns 16 … 32 `group` further.
struct RightTiles {
  const uint32_t* at;
  int64_t word, group;
};

// c (16·halves, 16·nv) = or += a·bᵀ over n words, whole tiles. Registers 0 to 3 are the sums, 4 and 5 the
// left side, 6 and 7 the right. `between` is called once per tile of k.
template <int halves, int nv, class Between>
inline void micro_tiles(
    int64_t n, LeftTiles a, RightTiles b, float* c, int64_t ldc, bool add, Between between) {
  float* low = c + kTileRows * ldc;
  if (add) {
    load_tile<0>(c, ldc * 4);
    if constexpr (nv > 1) load_tile<1>(c + kTileRows, ldc * 4);
    if constexpr (halves > 1) load_tile<2>(low, ldc * 4);
    if constexpr (halves > 1 && nv > 1) load_tile<3>(low + kTileRows, ldc * 4);
  } else {
    clear_tile<0>(), clear_tile<1>(), clear_tile<2>(), clear_tile<3>();
  }
  for (int64_t k = 0; k < n; k += kTileWords, a.at += a.step, b.at += kTileWords * b.word) {
    load_tile<4>(a.at, a.row * 4);
    load_tile<6>(b.at, b.word * 4);
    multiply_tiles<0, 4, 6>();
    if constexpr (nv > 1) {
      load_tile<7>(b.at + b.group, b.word * 4);
      multiply_tiles<1, 4, 7>();
    }
    if constexpr (halves > 1) {
      load_tile<5>(a.at + a.half, a.row * 4);
      multiply_tiles<2, 5, 6>();
      if constexpr (nv > 1) multiply_tiles<3, 5, 7>();
    }
    between();
  }
  store_tile<0>(c, ldc * 4);
  if constexpr (nv > 1) store_tile<1>(c + kTileRows, ldc * 4);
  if constexpr (halves > 1) store_tile<2>(low, ldc * 4);
  if constexpr (halves > 1 && nv > 1) store_tile<3>(low + kTileRows, ldc * 4);
}

template <class Between>
inline void run_tiles(int64_t rows, int nv, int64_t n, LeftTiles a, RightTiles b, float* c, int64_t ldc,
    bool add, Between between) {
  if (rows > kTileRows) {
    if (nv > 1) micro_tiles<2, 2>(n, a, b, c, ldc, add, between);
    else micro_tiles<2, 1>(n, a, b, c, ldc, add, between);
  } else {
    if (nv > 1) micro_tiles<1, 2>(n, a, b, c, ldc, add, between);
    else micro_tiles<1, 1>(n, a, b, c, ldc, add, between);
  }
}

#else

// Without a matrix unit there is nothing to set up.
struct Tiles {
  Tiles() {}
};

#endif

}  // namespace
}  // namespace cairn
