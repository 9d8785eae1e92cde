// The interface between a program's steps and the kernels of a card.
//
// A launcher is the host's half of an op: `void rms_norm(DeviceCall& call)` in device/launch/rms_norm.cc, in
// the namespace cairn::device. It reads shapes, dtypes and attributes, and launches kernels. Its rules:
//
// - It never reads a tensor's contents: `data` is an address on the card. Anything that depends on data, such
//   as where documents end, is read by the kernel.
// - It is called twice. The first call, before any run, launches nothing: it counts the scratch and rejects
//   unsupported arguments by throwing one clause without a capital or full stop, which is appended to the
//   op's name and shapes. The second records the launches for memory whose addresses no longer change. So it
//   must do the same both times: no state, no timing, no queries.
// - All launches of a program go to one stream, in order: a launch sees the writes of earlier ones.
// - Every byte of an output is written, even for an empty document or a masked row: memory is not zeroed.
// - The op table gets launchers as weak symbols (generated/launchers.h): a program with an op without one is
//   rejected by name before it runs.
//
// Kernels are in cuda/*.cu, C++17, compiled by nvcc without contraction of a·b + c (-fmad=false), as on the
// CPU: fused multiply-adds are written explicitly. A file is a module, with the file's name without its
// extension. Rules:
//
// - `extern "C" __global__ void name(const __grid_constant__ Params p)`; Params is one struct of plain data
//   in cuda/<module>.h, which the launcher includes too. Pointers in it are typed and are device addresses.
//   Tensor maps in it come from `call.tensor_map`.
// - No headers except the compiler's own, cuda/*.h, core/{codecs,philox,layout}.h and generated/ops.h. Every
//   PTX instruction is in cuda/{warp,heads_groups,e2m1}.h, once. No library, no cooperative groups, no
//   printf, no device malloc.
// - Sums have an order that depends on shapes alone. No atomics on floats; f64 where the CPU has f64. Codecs,
//   roundings and Philox are those of core/, bit for bit.
// - A kernel reports invalid data (an id outside a table) with `report(p.fault, p.fault_code)` of cuda/warp.h
//   and then accesses nothing out of bounds. The run then fails with the message of the code.
// - Blocks have at most 1024 threads. A launch may use more than 48 KiB of dynamic shared memory: the
//   interface raises the kernel's limit. All kernels run on sm_80 and newer unless a launcher checks
//   `call.device()`.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "../cuda/matmul_bulk.h"
#include "../cuda/stored.h"
#include "call.h"
#include "layout.h"
#include "ops.h"

namespace cairn::device {

// The products that run the kernels of matmul_bulk.cu on sm_90: none, those that otherwise run the widest
// tiles of matmul_wgmma.cu, or every product that these kernels can compute. Results are the same.
enum class BulkProducts { none, wide, all };

struct DeviceInfo {
  std::string name;
  // Compute capability: 90 is 9.0.
  int capability = 0;
  int processors = 0;
  // Maximum dynamic shared memory of a block.
  int shared_bytes = 0;
  int64_t memory_bytes = 0;
  bool is_emulated = false;
  // Whether each row of a product has the same bits whatever the other rows are.
  bool is_row_invariant = false;
  // Whether launchers choose only kernels that have run on a card: CAIRN_TUNE_KERNELS=classic.
  bool is_classic = false;
  // Whether products of fp8 codes run in fp8. Otherwise their operands are bf16.
  bool multiplies_fp8 = false;
  // The same of NVFP4 codes.
  bool multiplies_fp4 = false;
  BulkProducts bulk_products = BulkProducts::none;
};

struct Grid {
  int64_t x = 1, y = 1, z = 1;
};

// A matrix of bf16 and the box of it that a bulk copy reads, which is 64 columns wide. Rows start at
// multiples of 16 bytes, and `stride` is the distance between them in numbers.
struct BoxedMatrix {
  const void* data = nullptr;
  int64_t rows = 0, columns = 0, stride = 0;
  int box_rows = 0;
};
constexpr int kBoxColumns = 64;

// The receiver of launches: one that counts them, or one that records them in a stream.
class Launches {
 public:
  virtual ~Launches() = default;
  virtual char* scratch(int slot, size_t bytes) = 0;
  virtual void kernel(const char* module, const char* name, Grid grid, int threads, const void* params,
      size_t bytes, int shared) = 0;
  virtual cuda::TensorMap tensor_map(const BoxedMatrix& matrix) = 0;
  virtual void fill(void* at, int byte, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual int fault(const char* message) = 0;
  virtual int32_t* fault_word() = 0;
};

// The slot of the scratch whose memory is zero when it is allocated.
constexpr int kCounterSlot = 5;

class DeviceCall {
 public:
  // Null for an absent optional input.
  const Tensor* in[kMaxInputs]{};
  const Tensor* out[kMaxOutputs]{};
  const double* attrs = nullptr;

  DeviceCall(const DeviceInfo& device, Launches& launches) : device_(device), launches_(launches) {}

  const DeviceInfo& device() const { return device_; }

  // Memory on the card besides the tensors, 256-byte aligned, valid until the end of the op. Slots are
  // independent and below kScratchSlots. An op may request each slot once.
  template <class T = char>
  T* scratch(int slot, int64_t count) {
    return reinterpret_cast<T*>(launches_.scratch(slot, size_t(count) * sizeof(T)));
  }

  // Zeros, by which the blocks of a launch find the last of them (`arrives_last` in cuda/warp.h). Launches
  // leave them zero. An op may request them once.
  uint32_t* counters(int64_t count) { return scratch<uint32_t>(kCounterSlot, count); }

  // `shared` is dynamic shared memory in bytes. A grid without blocks launches nothing.
  template <class Params>
  void launch(
      const char* module, const char* kernel, Grid grid, int threads, const Params& params, int shared = 0) {
    static_assert(std::is_trivially_copyable_v<Params> && std::is_standard_layout_v<Params>);
    static_assert(sizeof(Params) <= 4000, "a launch carries at most 4 KB");
    if (grid.x > 0 && grid.y > 0 && grid.z > 0)
      launches_.kernel(module, kernel, grid, threads, &params, sizeof params, shared);
  }

  // The parameter by which a kernel copies boxes of a matrix, swizzled as in chunk_at<64> of cuda/tiles.h.
  cuda::TensorMap tensor_map(const BoxedMatrix& matrix) { return launches_.tensor_map(matrix); }

  void clear(void* at, int64_t bytes) {
    if (bytes > 0) launches_.fill(at, 0, size_t(bytes));
  }
  void copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0) launches_.copy(to, from, size_t(bytes));
  }

  // Where a kernel reports invalid data, and the code of a message to store there.
  int32_t* fault_word() { return launches_.fault_word(); }
  int fault(const char* message) { return launches_.fault(message); }

 private:
  const DeviceInfo& device_;
  Launches& launches_;
};

using Launcher = void (*)(DeviceCall& call);

template <class T>
T* data_of(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.data);
}
template <class T>
T* data_of(const Tensor* tensor) {
  return tensor ? data_of<T>(*tensor) : nullptr;
}

// A weight, as a kernel parameter.
inline cuda::Stored stored_of(const Tensor& t) {
  const int64_t rows = t.rank > 0 ? t.dims[0] : 1, columns = t.rank > 1 ? t.dims[1] : t.count;
  const Layout layout = layout_of(t.dtype, t.count, rows, columns);
  cuda::Stored stored{t.dtype, 0, columns, {}};
  for (int i = 0; i < 5; i++) stored.part[i] = t.data + layout.offset[i];
  return stored;
}

inline int64_t blocks_of(int64_t count, int64_t each) { return (count + each - 1) / each; }

}  // namespace cairn::device
