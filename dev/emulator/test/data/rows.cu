// Rows and functions of numbers: shuffles, shared memory, divergent ends, double precision, local memory.
#include <cuda_bf16.h>

extern "C" __global__ void rms_norm(const float* x, float* y, int n) {
  __shared__ float part[8];
  const float* row = x + blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i] * row[i];
  for (int by = 16; by; by >>= 1) sum += __shfl_xor_sync(~0u, sum, by);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < blockDim.x / 32; ++i) sum += part[i];
  float scale = rsqrtf(sum / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = row[i] * scale;
}

extern "C" __global__ void functions(const float* x, float* y, __nv_bfloat16* z, double* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = sinf(v) * expf(-v * v) + logf(1 + fabsf(v)) + powf(fabsf(v), 1.5f) + tanhf(v) + cosf(1e6f * v) +
         (i % 3 == 0 ? sqrtf(fabsf(v)) : 1.f / (v + 10.f));
  z[i] = __float2bfloat16(v);
  d[i] = exp((double)v) + (double)(i / 7) + log1p((double)v * v);
}
