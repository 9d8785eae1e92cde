import { vi } from 'vitest'
import { emulatorEnv, type Settings } from '../src/index.ts'

/** Lets engines that are created before `vi.unstubAllEnvs` find an emulated card with these settings. */
export async function stubEmulator(settings: Settings): Promise<void> {
  for (const [name, value] of Object.entries(await emulatorEnv(settings))) vi.stubEnv(name, value)
}
