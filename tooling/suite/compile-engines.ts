/**
 * Compiles what tests need, so that .ci/run counts that time apart from the tests: the engine of the
 * processor, the host part of the CUDA engine, the collectives of ranks, the emulated card, and, if nvcc is
 * found, the kernels for the emulated cards of tests.
 */
import { ADDONS, buildAddon } from '../../tune/native/src/build.ts'
import { buildModules } from '../../tune/native/src/build-modules.ts'
import { findNvcc, nvccCandidates } from '../../tune/native/src/nvcc.ts'
import { buildEmulator } from '../../dev/emulator/src/index.ts'

const log = (line: string): void => console.log(line)
for (const parts of ADDONS) await buildAddon({ parts, log })
await buildEmulator({ log })
const nvcc = findNvcc(nvccCandidates(process.env))
if (nvcc) for (const capability of [80, 90, 120]) await buildModules({ capability, areText: true, nvcc, log })
