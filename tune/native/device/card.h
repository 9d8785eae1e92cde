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

// What is known of a card before an engine is made on it.
DeviceInfo describe_card(const Driver& driver, int ordinal);

class Card {
 public:
  // `modules` is a folder with a file a module, `<name>.cubin` or, with `are_text`, `<name>.ptx`.
  Card(const Driver& driver, int ordinal, std::string modules, bool are_text);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const Driver& driver;
  const DeviceInfo info;

  // Makes this card that of the calling thread. Every function below does it first.
  void use() const;
  CUstream stream() const { return stream_; }
  // Waits for all that was given to that stream. `doing` is for the error.
  void wait(const char* doing) const;

  // Zeroed, or with `zeroed` false as it comes. Throws std::runtime_error where the card has no room.
  char* allocate(size_t bytes, bool zeroed = true);
  // Nothing where the card freed it already as a whole.
  void free(char* at);
  size_t free_bytes() const;

  // These are done when they return, beside what runs: they have a stream of their own, so that a copy is
  // never recorded into a program's graph.
  void copy_up(char* to, const void* from, size_t bytes) const;
  void copy_down(void* to, const char* from, size_t bytes) const;
  void clear(char* at, size_t bytes) const;

  // A kernel, loaded with its module when it is first asked for, and allowed `shared` bytes of dynamic shared
  // memory. Not during a capture.
  CUfunction function(const std::string& module, const std::string& name, int shared);

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

// Memory of a card, and whoever holds a part of it. A card that was closed has taken it back.
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
