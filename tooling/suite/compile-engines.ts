/**
 * Compiles the engines that tests need, so that .ci/run counts that time apart from the tests: the engine of
 * the processor, the host part of the CUDA engine, and the emulated card with its kernels.
 */
import { buildAddon, DEVICE_ADDON } from '../../tune/native/src/build.ts'
import { buildEmulator } from '../../dev/emulator/src/index.ts'

const log = (line: string): void => console.log(line)
await buildAddon({ log })
await buildAddon({ parts: DEVICE_ADDON, log })
await buildEmulator({ log })
