/**
 * Compiles the engines that tests need, so that .ci/run counts that time apart from the tests: the engine of
 * the processor, the host part of the CUDA engine, the collectives of ranks, and the emulated card.
 */
import { ADDONS, buildAddon } from '../../tune/native/src/build.ts'
import { buildEmulator } from '../../dev/emulator/src/index.ts'

const log = (line: string): void => console.log(line)
for (const parts of ADDONS) await buildAddon({ parts, log })
await buildEmulator({ log })
