// Support for card.cc: launches that run at once, tensors in the card's memory, and a clock.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "../device/card.h"
#include "layout.h"

namespace cairn::device {

class Direct : public Launches {
 public:
  explicit Direct(Card& card) : card_(card), fault_(reinterpret_cast<int32_t*>(card.allocate(4))) {}
  char* scratch(int slot, size_t bytes) override {
    if (bytes > size_[slot]) {
      card_.wait("growing a scratch");
      if (scratch_[slot]) card_.free(scratch_[slot]);
      scratch_[slot] = card_.allocate(bytes);
      size_[slot] = bytes;
    }
    return scratch_[slot];
  }
  void kernel(const char* module, const char* name, Grid grid, int threads, const void* params, size_t,
      int shared) override {
    const CUfunction function = card_.function(module, name, shared);
    void* given[] = {const_cast<void*>(params)};
    check_driver(card_.driver,
        card_.driver.launch(function, unsigned(grid.x), unsigned(grid.y), unsigned(grid.z), unsigned(threads),
            1, 1, unsigned(shared), card_.stream(), given, nullptr),
        name);
  }
  cuda::TensorMap tensor_map(const BoxedMatrix& matrix) override { return card_.tensor_map(matrix); }
  void fill(void* at, int byte, size_t bytes) override {
    check_driver(card_.driver,
        card_.driver.fill(CUdeviceptr(at), static_cast<unsigned char>(byte), bytes, card_.stream()), "fill");
  }
  void copy(void* to, const void* from, size_t bytes) override {
    check_driver(card_.driver,
        card_.driver.copy_across(CUdeviceptr(to), CUdeviceptr(from), bytes, card_.stream()), "copy");
  }
  int fault(const char*) override { return ++faults_; }
  int32_t* fault_word() override { return fault_; }

 private:
  Card& card_;
  int32_t* fault_;
  int faults_ = 0;
  char* scratch_[kScratchSlots]{};
  size_t size_[kScratchSlots]{};
};

struct Bench {
  Card& card;
  Direct launches;
  std::vector<char*> memory;
  uint32_t state = 1;

  explicit Bench(Card& card) : card(card), launches(card) {}

  Tensor empty(Dtype dtype, int64_t rows, int64_t columns) {
    Tensor t{dtype, 2, {rows, columns}, rows * columns, nullptr};
    const Layout layout = layout_of(dtype, t.count, rows, columns);
    t.data = card.allocate(size_t(layout.bytes));
    memory.push_back(t.data);
    return t;
  }
  // Random numbers in [-1, 1). For stored weights, codes and scales that are ordinary numbers.
  Tensor noise(Dtype dtype, int64_t rows, int64_t columns) {
    const Tensor t = empty(dtype, rows, columns);
    const size_t bytes = size_t(layout_of(dtype, t.count, rows, columns).bytes);
    std::vector<uint16_t> halves(bytes / 2 + 2);
    for (size_t i = 0; i < halves.size(); i++) {
      state = state * 1664525 + 1013904223;
      const float value = float(state >> 8) / 8388608.0f - 1;
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      if (dtype == Dtype::f32 && i % 2 == 0) halves[i] = 0;
      else if (dtype == Dtype::f32 || dtype == Dtype::bf16) halves[i] = uint16_t(bits >> 16);
      else halves[i] = uint16_t(0x3030 + ((state >> 9) & 0x0f0f));
    }
    card.copy_up(t.data, halves.data(), bytes);
    return t;
  }
  Tensor ints(std::vector<int32_t> values) {
    Tensor t{Dtype::i32, 1, {int64_t(values.size())}, int64_t(values.size()), nullptr};
    t.data = card.allocate(values.size() * 4);
    memory.push_back(t.data);
    card.copy_up(t.data, values.data(), values.size() * 4);
    return t;
  }
  std::vector<float> numbers(const Tensor& t) {
    std::vector<char> bytes(size_t(t.count) * (t.dtype == Dtype::bf16 ? 2 : 4));
    card.copy_down(bytes.data(), t.data, bytes.size());
    std::vector<float> values(static_cast<size_t>(t.count));
    for (size_t i = 0; i < values.size(); i++) {
      if (t.dtype == Dtype::f32) {
        std::memcpy(&values[i], &bytes[i * 4], 4);
        continue;
      }
      uint16_t half;
      std::memcpy(&half, &bytes[i * 2], 2);
      const uint32_t bits = uint32_t(half) << 16;
      std::memcpy(&values[i], &bits, 4);
    }
    return values;
  }
  void run(Launcher launcher, std::vector<const Tensor*> in, std::vector<const Tensor*> out,
      std::vector<double> attrs) {
    DeviceCall call(card.info, launches);
    for (size_t i = 0; i < in.size(); i++) call.in[i] = in[i];
    for (size_t i = 0; i < out.size(); i++) call.out[i] = out[i];
    call.attrs = attrs.data();
    launcher(call);
  }
  // Minimum milliseconds of a call over `repeats`.
  template <class Call>
  double time(Call call, int repeats = 10) {
    call();
    call();
    CUevent start = nullptr, end = nullptr;
    check_driver(card.driver, card.driver.event_create(&start, 0), "event");
    check_driver(card.driver, card.driver.event_create(&end, 0), "event");
    float min_ms = 1e30f;
    for (int i = 0; i < repeats; i++) {
      check_driver(card.driver, card.driver.event_record(start, card.stream()), "event");
      call();
      check_driver(card.driver, card.driver.event_record(end, card.stream()), "event");
      float milliseconds = 0;
      check_driver(card.driver, card.driver.event_wait(end), "wait");
      check_driver(card.driver, card.driver.event_elapsed(&milliseconds, start, end), "time");
      min_ms = std::min(min_ms, milliseconds);
    }
    card.driver.event_destroy(start);
    card.driver.event_destroy(end);
    return min_ms;
  }
  void release() {
    card.wait("a row");
    for (char* at : memory) card.free(at);
    memory.clear();
  }
};

}  // namespace cairn::device
