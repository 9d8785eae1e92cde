#include "isa.h"

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
namespace avx512 {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace avx512
namespace avx512bf16 {
extern const Kernel* const kTable;
extern const ScratchOf* const kScratchTable;
double peak(Arithmetic);
}  // namespace avx512bf16
#endif

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
#if defined(CAIRN_HAS_portable)
  isas.push_back({"portable", portable::kTable, portable::kScratchTable, portable::peak});
#endif
#if defined(CAIRN_HAS_neon)
  isas.push_back({"neon", neon::kTable, neon::kScratchTable, neon::peak});
#endif
#if defined(CAIRN_HAS_avx2)
  __builtin_cpu_init();
  bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx2) isas.push_back({"avx2", avx2::kTable, avx2::kScratchTable, avx2::peak});
  if (has_avx512) isas.push_back({"avx512", avx512::kTable, avx512::kScratchTable, avx512::peak});
  if (has_avx512 && __builtin_cpu_supports("avx512bf16"))
    isas.push_back({"avx512bf16", avx512bf16::kTable, avx512bf16::kScratchTable, avx512bf16::peak});
#endif
  return isas;
}

}  // namespace cairn
