#include "group_operands.h"

#include "elements.h"

namespace emulator {
namespace {

// Numbers of 16 bytes, `step` floats apart.
template <class Read>
void read_chunk(const std::byte* from, float* to, u32 step) {
  for (u32 n = 0; n < 16 / Read::bytes; ++n) to[n * step] = Read::read(from + n * Read::bytes);
}

struct Reader {
  u32 bytes;
  void (*read)(const std::byte*, float*, u32);
};
const Reader& reader_of(Element element) {
  static const Reader readers[] = {{2, read_chunk<ReadBf16>}, {2, read_chunk<ReadF16>},
      {4, read_chunk<ReadTf32>}, {1, read_chunk<ReadE4m3>}, {1, read_chunk<ReadE5m2>}};
  return readers[size_t(element)];
}

}  // namespace

u32 bytes_of(Element element) { return reader_of(element).bytes; }

Matrix Matrix::read(Warp& w, const Instruction& i, u64 bits, bool is_across) {
  if (bits >> 49 & 7) fault(w, i, "the emulator knows matrices with base offset 0 only");
  auto field = [&](u32 shift) { return u32(bits >> shift & 0x3fff) << 4; };
  constexpr u32 chunks[] = {1, 8, 4, 2};
  return {field(0), field(16), field(32), chunks[bits >> 62], is_across};
}

// Without a swizzle, eight rows of one chunk follow each other. With one, eight rows of all their chunks do,
// and bits 7 and up of the address are added to bits 4 and up, modulo 2.
u32 Matrix::chunk(u32 row, u32 k) const {
  if (chunks == 1)
    return is_across ? at + row / 8 * stride + k / 8 * leading + k % 8 * 16
                     : at + row / 8 * stride + row % 8 * 16 + k * leading;
  u32 row_bytes = chunks * 16;
  u32 plain = is_across ? at + row * 2 / row_bytes * leading + k / 8 * stride + k % 8 * row_bytes +
                              row * 2 % row_bytes
                        : at + row / 8 * stride + row % 8 * row_bytes + k * 16;
  return plain ^ ((plain >> 7 & (chunks - 1)) << 4);
}

void read_rows(
    Warp& w, const Instruction& i, const Matrix& matrix, Element element, u32 first, u32 rows, float* to) {
  const Reader& reader = reader_of(element);
  u32 depth = depth_of(element), across = 16 / reader.bytes;
  u32 outer = matrix.is_across ? rows / across : rows, inner = matrix.is_across ? depth : 2;
  for (u32 a = 0; a < outer; ++a)
    for (u32 b = 0; b < inner; ++b) {
      u32 row = matrix.is_across ? a * across : a;
      u32 at = matrix.chunk(first + row, b);
      if (at + 16 > w.block->shared_bytes)
        fault(w, i,
            "an operand lies outside shared memory: 16 bytes at " + std::to_string(at) + " of " +
                std::to_string(w.block->shared_bytes));
      w.block->shadow.read_async(w, i, a % kLanes, at, 16);
      if (!to) continue;
      const std::byte* from = w.block->shared + at;
      if (matrix.is_across) reader.read(from, to + row * depth + b, depth);
      else reader.read(from, to + row * depth + b * across, 1);
    }
}

void read_fragment(const std::vector<u32>& registers, Element element, float* to) {
  const Reader& reader = reader_of(element);
  u32 depth = depth_of(element);
  auto* bytes = reinterpret_cast<const std::byte*>(registers.data());
  for (u32 part = 0; part < 4; ++part)
    for (u32 row = 0; row < 8; ++row)
      reader.read(bytes + (part * 8 + row) * 16,
          to + (part % 2 * 8 + row) * depth + part / 2 * (16 / reader.bytes), 1);
}

float add_products(float sum, const float* a, const float* b, u32 depth) {
  for (u32 k = 0; k < depth; ++k) sum = std::fma(a[k], b[k], sum);
  return sum;
}

float add_products_cut(float sum, const float* a, const float* b, u32 depth, int bits) {
  float largest = std::fabs(sum);
  bool is_finite = std::isfinite(sum);
  for (u32 k = 0; k < depth; ++k) {
    largest = std::max(largest, std::fabs(a[k] * b[k]));
    is_finite &= std::isfinite(a[k] * b[k]);
  }
  if (!is_finite || largest == 0) return add_products(sum, a, b, depth);
  auto cut = [&](double value, int exponent) {
    double unit = std::ldexp(1.0, exponent - (bits - 1));
    return std::trunc(value / unit) * unit;
  };
  int exponent = std::ilogb(largest);
  double total = cut(double(sum), exponent);
  for (u32 k = 0; k < depth; ++k) total += cut(double(a[k]) * double(b[k]), exponent);
  return total == 0 ? 0.0f : float(cut(total, std::ilogb(total)));
}

}  // namespace emulator
