// cvt of two numbers at once: bf16x2, f16x2, e4m3x2, e5m2x2, e2m1x2 and similar formats; and cvt of tf32.
#pragma once
#include "../machine/decode.h"

namespace emulator {

/// False if the statement is not a packed conversion.
bool decode_packed(Decoder& decoder, const Statement& s, Instruction& i);

}  // namespace emulator
