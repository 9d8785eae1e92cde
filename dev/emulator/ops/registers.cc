// setmaxnreg: registers that the warps of a block hand to each other.
#include "lanes.h"

namespace emulator {
namespace {

// detail: the wanted count; a and b are not used. target: 1 if it asks for more.
void run_setmaxnreg(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "setmaxnreg")) return;
  u32 wanted = u32(i.detail), held = w.register_limit;
  bool is_increase = i.target == 1;
  if (is_increase ? wanted < held : wanted > held)
    fault(w, i,
        std::string(is_increase ? "asks for more" : "releases") + " registers, but a thread has " +
            std::to_string(held) + " and would have " + std::to_string(wanted));
  if (!w.block->set_registers(w, wanted)) {
    w.state = WarpState::needs_registers;
    --w.pc;  // runs again when another warp has released some
    return;
  }
  w.block->step_group(w, i, 0, 0);
}

void decode_setmaxnreg(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  std::string action = parts.take_one_of({"inc", "dec"});
  bool is_whole = parts.take("sync") && parts.take("aligned") && parts.take("u32");
  if (action.empty() || !is_whole) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  parts.expect_none();
  const Operand& count = s.operands.at(0);
  if (count.kind != Operand::Kind::immediate || count.bits < 24 || count.bits > 256 || count.bits % 8)
    refuse(s.line, "setmaxnreg needs a multiple of 8 from 24 to 256");
  if (!decoder.code().max_registers && !decoder.code().max_threads)
    refuse(s.line, "setmaxnreg needs .maxnreg, .maxntid or .reqntid, or it has no effect");
  i.detail = count.bits;
  i.target = action == "inc";
  i.run = run_setmaxnreg;
}

}  // namespace

void add_register_ops(DecodeTable& table) { table["setmaxnreg"] = decode_setmaxnreg; }

}  // namespace emulator
