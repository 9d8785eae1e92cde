#include "isa.h"

#if defined(CAIRN_HAS_amx)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cairn {

#if defined(CAIRN_HAS_portable)
namespace portable {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace portable
#endif
#if defined(CAIRN_HAS_neon)
namespace neon {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace neon
#endif
#if defined(CAIRN_HAS_avx2)
namespace avx2 {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace avx2
#endif
#if defined(CAIRN_HAS_avx512)
namespace avx512 {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace avx512
#endif
#if defined(CAIRN_HAS_avx512bf16)
namespace avx512bf16 {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace avx512bf16
#endif
#if defined(CAIRN_HAS_amx)
namespace amx {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace amx

// Whether this processor has the bf16 matrix unit and the system grants this process its registers. A process
// must request them, because they enlarge the saved state of each thread by eight kilobytes.
static bool may_use_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kBf16) || !(d & kTile)) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
#if defined(CAIRN_HAS_portable)
  isas.push_back({"portable", portable::kTable, portable::kScratchTable, portable::peak});
#endif
#if defined(CAIRN_HAS_neon)
  isas.push_back({"neon", neon::kTable, neon::kScratchTable, neon::peak});
#endif
#if defined(__x86_64__)
  __builtin_cpu_init();
  [[maybe_unused]] const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  [[maybe_unused]] const bool has_avx512 =
      has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  [[maybe_unused]] const bool has_bf16 = has_avx512 && __builtin_cpu_supports("avx512bf16");
#endif
#if defined(CAIRN_HAS_avx2)
  if (has_avx2) isas.push_back({"avx2", avx2::kTable, avx2::kScratchTable, avx2::peak});
#endif
#if defined(CAIRN_HAS_avx512)
  if (has_avx512) isas.push_back({"avx512", avx512::kTable, avx512::kScratchTable, avx512::peak});
#endif
#if defined(CAIRN_HAS_avx512bf16)
  if (has_bf16)
    isas.push_back({"avx512bf16", avx512bf16::kTable, avx512bf16::kScratchTable, avx512bf16::peak});
#endif
#if defined(CAIRN_HAS_amx)
  if (has_bf16 && may_use_tiles()) isas.push_back({"amx", amx::kTable, amx::kScratchTable, amx::peak});
#endif
  return isas;
}

}  // namespace cairn
