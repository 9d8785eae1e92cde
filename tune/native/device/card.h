// One card: its context, the stream of its runs, its memory and the modules of kernels.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "driver.h"
#include "launch.h"

namespace cairn::device {

// Properties of a card, without creating an engine on it.
DeviceInfo describe_card(const Driver& driver, int ordinal);

// Choices of the engine's caller.
struct CardOptions {
  bool is_row_invariant = false;
  // Without them, operands in these formats are multiplied in bf16.
  bool uses_fp8 = true, uses_fp4 = true;
  bool is_classic = false;
  BulkProducts bulk_products = BulkProducts::none;
};

class Card {
 public:
  // `modules` is a folder with one file per module, `<name>.cubin` or, with `are_text`, `<name>.ptx`.
  Card(const Driver& driver, int ordinal, std::string modules, bool are_text, CardOptions options);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const Driver& driver;
  const DeviceInfo info;

  // Makes this card current for the calling thread. Every function below does this first.
  void use() const;
  CUstream stream() const { return stream_; }
  // Waits for all work of that stream. `doing` is for the error.
  void wait(const char* doing) const;

  // Zeroed unless `zeroed` is false. Throws std::runtime_error if the card has no room.
  char* allocate(size_t bytes, bool zeroed = true);
  // Does nothing if closing the card has freed it.
  void free(char* at);
  size_t free_bytes() const;

  // These are complete when they return. They use their own stream beside running programs, so that a copy is
  // never recorded into a program's graph.
  void copy_up(char* to, const void* from, size_t bytes) const;
  void copy_down(void* to, const char* from, size_t bytes) const;
  void clear(char* at, size_t bytes) const;

  // A kernel, loaded with its module on first use, with a limit of `shared` bytes of dynamic shared memory.
  // Not during a capture.
  CUfunction function(const std::string& module, const std::string& name, int shared);
  cuda::TensorMap tensor_map(const BoxedMatrix& matrix) const;

 private:
  struct Function {
    CUfunction function = nullptr;
    int shared = 0;
  };
  CUmodule load(const std::string& name);

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  void finish(CUresult given, const char* doing) const;

  CUstream stream_ = nullptr, copies_ = nullptr;
  std::string modules_;
  bool are_text_;
  std::map<std::string, CUmodule> loaded_;
  std::map<std::string, Function> functions_;
  mutable std::mutex mutex_;
  std::unordered_set<char*> allocations_;
};

// Memory of a card, shared by the owners of its parts. Closing the card frees it.
struct Memory {
  const std::weak_ptr<Card> card;
  char* const at;
  Memory(const std::shared_ptr<Card>& card, size_t bytes) : card(card), at(card->allocate(bytes)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (auto alive = card.lock()) alive->free(at);
  }
};

}  // namespace cairn::device
