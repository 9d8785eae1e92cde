// Converts floats to blocks of a stored dtype, and back. Follows tune/ops/src/codecs/quantize.ts rounding by
// rounding.
#include "decode.h"
#include "dynamic_map.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr float kE4m3Max = 448, kE2m1Max = 6, kE4m3Min = 0.001953125f;

struct Writable {
  uint8_t *codes, *scales;
  char* part[5];
};

Writable writable_of(const Tensor& t) {
  const Stored s = stored_of(t);
  Writable w{};
  for (int i = 0; i < 5; i++) w.part[i] = const_cast<char*>(s.part[i]);
  w.codes = reinterpret_cast<uint8_t*>(w.part[0]);
  w.scales = reinterpret_cast<uint8_t*>(w.part[1]);
  return w;
}

void bf16_vnni(Call& call, const Tensor& x, const Tensor& y) {
  const int64_t rows = x.dims[0], columns = x.dims[1], words = columns / 2;
  const Stored stored = stored_of(y);
  // A task writes a whole group of rows, including the padding of the last one.
  parallel_spans(call, rows, kVnniRows, [&](int64_t first, int64_t last, int thread) {
    char* scratch = reinterpret_cast<char*>(row_slot(call, thread, 0, kVnniRows * words));
    float* wide = row_slot(call, thread, 1, columns);
    const char* from[kVnniRows];
    for (int64_t i = 0; i < kVnniRows; i++) {
      char* own = scratch + i * columns * 2;
      from[i] = x.dtype == Dtype::bf16 && first + i < last ? x.data + (first + i) * columns * 2 : own;
      if (first + i >= last) std::memset(own, 0, size_t(columns) * 2);
      else if (x.dtype != Dtype::bf16)
        write_row({Dtype::bf16, 1, {columns}, columns, own}, 0, columns,
            read_row(x, (first + i) * columns, columns, wide));
    }
    uint32_t* to = const_cast<uint32_t*>(vnni_row(stored, first));
    int64_t word = 0;
    for (; word + VL <= words; word += VL) {
      for (int64_t row = 0; row < kVnniRows; row += VL) {
        vu r[VL];
        for (int i = 0; i < VL; i++) r[i] = load_as<vu>(from[row + i] + word * 4);
        transpose(r);
        for (int i = 0; i < VL; i++) store_as(to + (word + i) * kVnniRows + row, r[i]);
      }
    }
    for (; word < words; word++)
      for (int64_t row = 0; row < kVnniRows; row++)
        std::memcpy(to + word * kVnniRows + row, from[row] + word * 4, 4);
  });
}

void fp8_tiles(Call& call, const Tensor& x, const Tensor& y) {
  const Writable w = writable_of(y);
  const int64_t rows = x.dims[0], columns = x.dims[1], across = ceil_div(columns, kFp8Tile);
  parallel_spans(call, rows, kFp8Tile, [&](int64_t first, int64_t last, int thread) {
    float* scratch = row_slot(call, thread, 0, kFp8Tile);
    for (int64_t tile = 0; tile < across; tile++) {
      const int64_t from = tile * kFp8Tile, n = min64(kFp8Tile, columns - from);
      float amax = 0;
      for (int64_t i = first; i < last; i++) {
        const float size = max_abs(read_row(x, i * columns + from, n, scratch), n);
        amax = size > amax ? size : amax;
      }
      reinterpret_cast<float*>(w.part[1])[first / kFp8Tile * across + tile] = amax / kE4m3Max;
      const float inverse = kE4m3Max / (amax > 1e-10f ? amax : 1e-10f);
      for (int64_t i = first; i < last; i++) {
        const float* values = read_row(x, i * columns + from, n, scratch);
        for (int64_t j = 0; j < n; j++)
          w.codes[i * columns + from + j] = uint8_t(encode_minifloat(kE4m3, values[j] * inverse));
      }
    }
  });
}

// Largest |x| over fixed spans. A maximum is the same in any order.
float max_abs_of(Call& call, const Tensor& x) {
  const int64_t spans = ceil_div(x.count, kElementsPerTask);
  float* partial = static_cast<float*>(shared_scratch(call.scratch, 0, size_t(spans + 1) * 4));
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    partial[first / kElementsPerTask] =
        max_abs(read_row(x, first, last - first, row_slot(call, thread, 0, kElementsPerTask)), last - first);
  });
  return max_abs(partial, spans);
}

void fp8_tensor(Call& call, const Tensor& x, const Tensor& y) {
  const Writable w = writable_of(y);
  const float amax = max_abs_of(call, x), scale = amax / kE4m3Max,
              inverse = kE4m3Max / (amax > 1e-10f ? amax : 1e-10f);
  std::memcpy(w.part[1], &scale, 4);
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* values = read_row(x, first, last - first, row_slot(call, thread, 0, kElementsPerTask));
    for (int64_t i = 0; i < last - first; i++)
      w.codes[first + i] = uint8_t(encode_minifloat(kE4m3, values[i] * inverse));
  });
}

// Stores codes of one block, two nibbles per byte.
template <bool high_first, class Encode>
inline void put_nibbles(const float* values, int64_t n, uint8_t* bytes, Encode encode) {
  for (int64_t i = 0; i < n; i += 2) {
    const int even = encode(values[i]), odd = encode(values[i + 1]);
    bytes[i / 2] = uint8_t(high_first ? even << 4 | odd : odd << 4 | even);
  }
}

void nvfp4(Call& call, const Tensor& x, const Tensor& y) {
  const Writable w = writable_of(y);
  const float amax = max_abs_of(call, x), tensor_scale = amax / (kE4m3Max * kE2m1Max);
  std::memcpy(w.part[2], &tensor_scale, 4);
  if (amax == 0) {
    std::memset(w.codes, 0, size_t(x.count / 2));
    std::memset(w.scales, 0, size_t(x.count / kNvfp4Block));
    return;
  }
  const float encode = (kE4m3Max * kE2m1Max) / amax;
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* values = read_row(x, first, last - first, row_slot(call, thread, 0, kElementsPerTask));
    for (int64_t i = 0; i < last - first; i += kNvfp4Block) {
      const float wanted = max_abs(values + i, kNvfp4Block) / kE2m1Max * encode;
      const int code = encode_minifloat(kE4m3, wanted > kE4m3Min ? wanted : kE4m3Min);
      w.scales[(first + i) / kNvfp4Block] = uint8_t(code);
      const float factor = encode / decode_minifloat(kE4m3, code);
      put_nibbles<false>(values + i, kNvfp4Block, w.codes + (first + i) / 2,
          [factor](float v) { return encode_minifloat(kE2m1, v * factor); });
    }
  });
}

void mxfp4(Call& call, const Tensor& x, const Tensor& y) {
  const Writable w = writable_of(y);
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* values = read_row(x, first, last - first, row_slot(call, thread, 0, kElementsPerTask));
    for (int64_t i = 0; i < last - first; i += kMxfp4Block) {
      const int code = encode_e8m0(max_abs(values + i, kMxfp4Block) / 4);
      w.scales[(first + i) / kMxfp4Block] = uint8_t(code);
      const float scale = decode_e8m0(code);
      put_nibbles<false>(values + i, kMxfp4Block, w.codes + (first + i) / 2,
          [scale](float v) { return encode_minifloat(kE2m1, v / scale); });
    }
  });
}

void nf4(Call& call, const Tensor& x, const Tensor& y) {
  const Writable w = writable_of(y);
  const int64_t blocks = x.count / kNf4Block;
  float *map = reinterpret_cast<float*>(w.part[4]), *group_scales = reinterpret_cast<float*>(w.part[2]);
  float* scales = static_cast<float*>(shared_scratch(call.scratch, 0, size_t(blocks + 1) * 4));
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* values = read_row(x, first, last - first, row_slot(call, thread, 0, kElementsPerTask));
    for (int64_t i = 0; i < last - first; i += kNf4Block) {
      const float scale = max_abs(values + i, kNf4Block);
      scales[(first + i) / kNf4Block] = scale;
      put_nibbles<true>(values + i, kNf4Block, w.codes + (first + i) / 2,
          [scale](float v) { return encode_nearest(kNf4Table, 16, scale == 0 ? 0 : v / scale); });
    }
  });
  double sum = 0;
  for (int64_t i = 0; i < blocks; i++) sum += double(scales[i]);
  const float offset = float(sum / double(blocks));
  std::memcpy(w.part[3], &offset, 4);
  dynamic_map(true, map);
  parallel_spans(call, blocks, kNf4Group, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; i++) scales[i] -= offset;
    const float amax = max_abs(scales + first, last - first);
    group_scales[first / kNf4Group] = amax;
    for (int64_t i = first; i < last; i++)
      w.scales[i] = uint8_t(encode_nearest(map, 256, amax == 0 ? 0 : scales[i] / amax));
  });
}

}  // namespace

void quantize(Call& call) {
  const Tensor &x = *call.in[quantize_in::x], &y = *call.out[quantize_out::y];
  switch (y.dtype) {
    case Dtype::bf16_vnni:
      return bf16_vnni(call, x, y);
    case Dtype::fp8_tiles:
      return fp8_tiles(call, x, y);
    case Dtype::fp8_tensor:
      return fp8_tensor(call, x, y);
    case Dtype::nvfp4:
      return nvfp4(call, x, y);
    case Dtype::mxfp4:
      return mxfp4(call, x, y);
    case Dtype::nf4:
      return nf4(call, x, y);
    default:
      return cast(call);
  }
}

void quantize_scratch(const Call& call, ScratchSizes& sizes) {
  const Tensor &x = *call.in[quantize_in::x], &y = *call.out[quantize_out::y];
  if (y.dtype == Dtype::bf16_vnni) add_row_slots(sizes, 2, kVnniRows / 2 * x.dims[1]);
  if (y.dtype == Dtype::fp8_tiles) add_row_slots(sizes, 1, kFp8Tile);
  if (y.dtype == Dtype::nvfp4 || y.dtype == Dtype::fp8_tensor)
    sizes.add_shared(0, size_t(ceil_div(x.count, kElementsPerTask) + 1) * 4);
  if (y.dtype == Dtype::nf4) sizes.add_shared(0, size_t(x.count / kNf4Block + 1) * 4);
  if (y.dtype != Dtype::f32 && y.dtype != Dtype::bf16 && y.dtype != Dtype::bf16_vnni &&
      y.dtype != Dtype::fp8_tiles)
    add_row_slots(sizes, 1, kElementsPerTask);
}

void dequantize_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 1, call.in[dequantize_in::x]->dims[1]);
}

void dequantize(Call& call) {
  const Tensor &x = *call.in[dequantize_in::x], &y = *call.out[dequantize_out::y];
  const Stored stored = stored_of(x);
  const int64_t columns = x.dims[1];
  parallel_spans(call, x.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float* scratch = row_slot(call, thread, 0, columns);
    for (int64_t row = first; row < last; row++) {
      decode_floats(stored, row, 0, columns, scratch);
      write_row(y, row * columns, columns, scratch);
    }
  });
}

}  // namespace cairn::CAIRN_ISA
