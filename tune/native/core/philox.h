// Philox4x32-10: a random number as a pure function of counter and key, the same on every backend.
#pragma once
#include <cstdint>

#include "device_code.h"

namespace cairn {
namespace {

struct Words4 {
  uint32_t word[4];
};

CAIRN_DEVICE inline Words4 philox(Words4 counter, uint32_t key0, uint32_t key1) {
  auto [c0, c1, c2, c3] = counter.word;
  for (int round = 0; round < 10; round++) {
    uint64_t first = uint64_t(0xd2511f53) * c0, second = uint64_t(0xcd9e8d57) * c2;
    uint32_t next0 = uint32_t(second >> 32) ^ c1 ^ key0, next2 = uint32_t(first >> 32) ^ c3 ^ key1;
    c1 = uint32_t(second);
    c3 = uint32_t(first);
    c0 = next0;
    c2 = next2;
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace
}  // namespace cairn
