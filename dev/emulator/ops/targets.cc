// The targets that instructions need. ptxas rejects them for older ones.
#include <cstdlib>

#include "../machine/decode.h"

namespace emulator {

namespace {

// Kinds of mma.sync, with or without scales of blocks, are those of sm_120a, sm_121a and their family.
void check_kind(const Statement& s, const std::string& target) {
  bool has_kind = false;
  for (const std::string& part : s.opcode) has_kind |= part.starts_with("kind::") || part == "block_scale";
  if (!has_kind) return;
  if (std::atoi(target.c_str() + 3) / 10 == 12 && (target.back() == 'a' || target.back() == 'f')) return;
  refuse(s.line, join_opcode(s.opcode) + " needs sm_120a, and the target is " + target);
}

}  // namespace

void check_target(const Statement& s, const std::string& target) {
  if (s.opcode[0] == "mma") return check_kind(s, target);
  // Capability, and whether the target must name an exact architecture, such as sm_90a.
  static const std::unordered_map<std::string, std::pair<int, bool>> needs = {{"wgmma", {90, true}},
      {"setmaxnreg", {90, true}}, {"elect", {90, false}}, {"stmatrix", {90, false}}, {"mapa", {90, false}},
      {"getctarank", {90, false}}, {"griddepcontrol", {90, false}}, {"barrier", {90, false}}};
  auto found = needs.find(s.opcode[0]);
  if (found == needs.end()) return;
  if (s.opcode[0] == "barrier" && (s.opcode.size() < 2 || s.opcode[1] != "cluster")) return;
  auto [capability, is_exact] = found->second;
  bool has_it = target.size() > 3 && std::atoi(target.c_str() + 3) >= capability;
  if (s.opcode[0] == "wgmma") has_it = target == "sm_90a";
  if (has_it && (!is_exact || target.back() == 'a' || target.back() == 'f')) return;
  refuse(s.line, join_opcode(s.opcode) + " needs sm_" + std::to_string(capability) + (is_exact ? "a" : "") +
                     ", and the target is " + target);
}

}  // namespace emulator
