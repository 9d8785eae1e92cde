// Products on sm_90's tensor cores whose operands are loaded by tensor maps. A block computes one tile of
// 128×256 after the other. The first of its three warpgroups copies operands into a ring of stages, also for
// the next tile while the others write a result. The others multiply, 64 rows each. Sums have the order of
// the kernels that they replace, matmul_wgmma.cu and matmul.cu.
#include "matmul_bulk.h"
#include "sum_rows.h"

using namespace cairn::cuda;

namespace {

constexpr int kTileM = 128, kTileN = 256, kDepth = 64, kStages = 4, kConsumers = 2, kGroup = 128,
              kThreads = (1 + kConsumers) * kGroup;

// Whether a kernel writes its sums or the gradients of a gated unit.
enum class Result { sums, swiglu_grad };

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kLeftBytes = kTileM * kDepth * 2, kStageBytes = kLeftBytes + kTileN * kDepth * 2,
              kPanelBytes = kDepth * 128, kRowsBytes = 8 * 128;
constexpr int kRowSpaceBytes = kConsumers * kGroup / kWarp * kRowSpace * 4;
// A block of 384 threads starts with 168 registers a thread. The warpgroups divide the same total.
constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;

// The stages in turn. `parity` is that of the phases in which they are filled.
struct Ring {
  uint32_t tiles, barriers, stage = 0, parity = 0;

  __device__ uint32_t tile() const { return tiles + stage * kStageBytes; }
  __device__ uint32_t full() const { return barriers + stage * 8; }
  __device__ uint32_t empty() const { return barriers + (kStages + stage) * 8; }
  __device__ uint32_t empty_before() const {
    return barriers + (kStages + (stage + kStages - 1) % kStages) * 8;
  }
  __device__ void advance() {
    stage++;
    if (stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

// A range of positions along k.
struct Span {
  int begin, end;
};

// The tiles of a block, and its share of k, which is the same for all of them.
struct BulkWork {
  ResultTile place;
  Span head, tail;
  int tile, tiles_m, tiles_n;

  __device__ BulkWork(const BulkMatmul& given)
      : place{0, 0, given.product.m, 0}, tile(int(blockIdx.x) - int(gridDim.x)) {
    const Matmul& p = given.product;
    tiles_m = (p.m + kTileM - 1) / kTileM;
    tiles_n = (p.n + kTileN - 1) / kTileN;
    if (p.live_rows) place.rows = min(place.rows, *p.live_rows - p.first_row);
    const int depth = given.split_depth, heads = (p.k[0] + depth - 1) / depth;
    const int64_t all = heads + (p.k[1] + depth - 1) / depth;
    const int first = int(all * blockIdx.y / p.splits), last = int(all * (blockIdx.y + 1) / p.splits);
    head = {min(first, heads) * depth, min(min(last, heads) * depth, p.k[0])};
    tail = {max(first - heads, 0) * depth, min(max(last - heads, 0) * depth, p.k[1])};
  }

  // Advances to the next tile. Returns false after the last one.
  __device__ bool next() {
    do {
      tile += int(gridDim.x);
      if (tile >= tiles_m * tiles_n) return false;
      int m, n;
      tile_of(tile, tiles_m, tiles_n, m, n);
      place.row = m * kTileM;
      place.column = n * kTileN;
    } while (place.row >= place.rows);
    return true;
  }
};

// Copies `size` rows or columns of an operand from `across` on.
template <bool along_k, int size>
__device__ inline void copy_operand(uint32_t to, const TensorMap& map, int across, int k, uint32_t full) {
#pragma unroll
  for (int i = 0; i < (along_k ? 1 : size / 64); i++) {
    if (along_k) copy_box(to, &map, across, k, full);
    else copy_box(to + i * kPanelBytes, &map, k, across + i * 64, full);
  }
}

// Copies the operands of all tiles. One thread runs this.
template <bool a_along_k, bool b_along_k>
__device__ inline void produce(const BulkMatmul& p, Ring ring) {
  BulkWork w(p);
  while (w.next()) {
#pragma unroll 1
    for (int pair = 0; pair < 2; pair++) {
      const Span span = pair == 0 ? w.head : w.tail;
#pragma unroll 1
      for (int k = span.begin; k < span.end; k += kDepth) {
        await_phase(ring.empty(), ring.parity ^ 1);
        arrive_expecting(ring.full(), kStageBytes);
        copy_operand<a_along_k, kTileM>(ring.tile(), p.a[pair], w.place.row, k, ring.full());
        copy_operand<b_along_k, kTileN>(
            ring.tile() + kLeftBytes, p.b[pair], w.place.column, k, ring.full());
        ring.advance();
      }
    }
  }
}

// Sums of 64 rows, in halves of 128 columns. Their loops are unrolled: an index that is not constant would
// put them into local memory.
using Sums = float[2][16][4];

template <class Change>
__device__ inline void each_sum(Sums& sums, Change change) {
#pragma unroll
  for (int j = 0; j < 2; j++)
#pragma unroll
    for (int i = 0; i < 16; i++)
#pragma unroll
      for (int c = 0; c < 4; c++) change(sums[j][i][c]);
}

// Adds the products of 16 numbers along k of a stage to a warpgroup's sums.
template <bool a_along_k, bool b_along_k>
__device__ inline void multiply_sixteen(Sums& sums, uint32_t a, int group, int k, bool adds) {
  const uint32_t b = a + kLeftBytes;
  const uint64_t left = a_along_k ? matrix_of(a + group * 64 * 128 + k * 2, kRowsBytes, 16)
                                  : matrix_of(a + group * kPanelBytes + k * 128, kRowsBytes, kPanelBytes),
                 right = b_along_k ? matrix_of(b + k * 2, kRowsBytes, 16)
                                   : matrix_of(b + k * 128, kRowsBytes, kPanelBytes);
  multiply_add_group<!a_along_k, !b_along_k>(sums, left, right, adds);
}

// Adds the products of a pair to a warpgroup's sums, and releases each stage when its products are done.
template <bool a_along_k, bool b_along_k>
__device__ inline void multiply_pair(Sums& sums, Ring& ring, Span span, int group, bool& adds) {
  const bool is_first_lane = threadIdx.x % kWarp == 0;
  int k = span.begin;
#pragma unroll 1
  for (; span.end - k > kDepth - 16; k += kDepth) {
    await_phase(ring.full(), ring.parity);
    begin_products();
#pragma unroll
    for (int i = 0; i < kDepth; i += 16)
      multiply_sixteen<a_along_k, b_along_k>(sums, ring.tile(), group, i, adds || i > 0);
    group_products();
    adds = true;
    await_products<1>();
    if (k > span.begin && is_first_lane) arrive(ring.empty_before());
    ring.advance();
  }
  if (k < span.end) {
    // Products with the zeros of the rest of the stage are left out.
    await_phase(ring.full(), ring.parity);
    int i = 0;
#pragma unroll 1
    do {
      begin_products();
      multiply_sixteen<a_along_k, b_along_k>(sums, ring.tile(), group, i, adds || i > 0);
      group_products();
      i += 16;
    } while (i < span.end - k);
    adds = true;
    await_products<1>();
    if (k > span.begin && is_first_lane) arrive(ring.empty_before());
    ring.advance();
  }
  await_products<0>();
  if (span.begin < span.end && is_first_lane) arrive(ring.empty_before());
}

// Writes a warp's sums of 16 rows from `row` on.
template <Result result>
__device__ inline void write_rows(const Matmul& p, const BulkWork& w, Sums& sums, int row, float* space) {
  row += w.place.row;
  over_sum_rows(sums, w.place.rows - row, p.n - w.place.column, space,
      [&](int r, int c, float one, float two) {
        const int64_t at = row + r;
        const int column = w.place.column + c;
        if (result == Result::swiglu_grad) {
          finish_swiglu_grad(p, at, column, one, two);
        } else if (p.splits > 1) {
          float* const to = p.partial + (int64_t(blockIdx.y) * p.m + at) * p.n + column;
          to[0] = one;
          if (column + 1 < p.n) to[1] = two;
        } else {
          finish_two(p, 0, at, column, one, two);
        }
      });
}

// Multiplies all tiles and writes their results. Each consuming warpgroup runs this.
template <bool a_along_k, bool b_along_k, Result result>
__device__ inline void consume(const BulkMatmul& given, Ring ring, void* shared) {
  const Matmul& p = given.product;
  const int group = int(threadIdx.x) / kGroup - 1, warp = int(threadIdx.x) / kWarp % 4;
  float* const space = static_cast<float*>(shared) + (group * 4 + warp) * kRowSpace;
  BulkWork w(given);
  while (w.next()) {
    Sums sums;
    bool adds = false;
    multiply_pair<a_along_k, b_along_k>(sums, ring, w.head, group, adds);
    if (p.grid != Grid::none && adds) {
      const float scale = scale_of(p, 0);
      each_sum(sums, [scale](float& sum) { sum *= scale; });
    }
    multiply_pair<a_along_k, b_along_k>(sums, ring, w.tail, group, adds);
    write_rows<result>(p, w, sums, group * 64 + warp * 16, space);
  }
}

template <bool a_along_k, bool b_along_k, Result result = Result::sums>
__device__ inline void multiply_bulk(const BulkMatmul& p) {
  extern __shared__ __align__(1024) char shared[];
  const uint32_t tiles = shared_address(shared);
  const Ring ring{tiles, tiles + kStages * kStageBytes + kRowSpaceBytes};
  if (threadIdx.x == 0) {
#pragma unroll
    for (int i = 0; i < kStages; i++) {
      init_barrier(ring.barriers + i * 8, 1);
      init_barrier(ring.barriers + (kStages + i) * 8, kConsumers * kGroup / kWarp);
    }
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x < kGroup) {
    give_registers<kProducerRegisters>();
    if (threadIdx.x == 0) produce<a_along_k, b_along_k>(p, ring);
  } else {
    take_registers<kConsumerRegisters>();
    consume<a_along_k, b_along_k, result>(p, ring, shared + kStages * kStageBytes);
  }
}

#else

// Never launched on other architectures.
template <bool a_along_k, bool b_along_k, Result result = Result::sums>
__device__ inline void multiply_bulk(const BulkMatmul&) {
  __trap();
}

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1) bulk_nt_256(const __grid_constant__ BulkMatmul p) {
  multiply_bulk<true, true>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) bulk_nn_256(const __grid_constant__ BulkMatmul p) {
  multiply_bulk<true, false>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) bulk_tn_256(const __grid_constant__ BulkMatmul p) {
  multiply_bulk<false, false>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) bulk_nn_swiglu_grad_256(
    const __grid_constant__ BulkMatmul p) {
  multiply_bulk<true, false, Result::swiglu_grad>(p);
}

// Adds up the partial sums of the blocks that share k, in order.
extern "C" __global__ void __launch_bounds__(256) bulk_finish(const __grid_constant__ Matmul p) {
  const int64_t count = int64_t(p.m) * p.n;
  for (int64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
    float sum = p.partial[i];
    for (int split = 1; split < p.splits; split++) sum += p.partial[split * count + i];
    finish_one(p, 0, i / p.n, int(i % p.n), sum);
  }
}
