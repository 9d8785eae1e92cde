/** The package as it is on a system that shows descriptors as paths, and as it is on one that does not. */
import { vi } from 'vitest'
import type { Addressing } from '../src/addressing.ts'

export const ADDRESSINGS = ['descriptor', 'path'] as const satisfies readonly Addressing[]

export async function loadWith(addressing: Addressing): Promise<typeof import('../src/index.ts')> {
  vi.resetModules()
  vi.doMock('../src/addressing.ts', async original => ({
    ...(await original<typeof import('../src/addressing.ts')>()),
    addressing,
  }))
  try {
    return await import('../src/index.ts')
  } finally {
    vi.doUnmock('../src/addressing.ts')
    // The files of a runner share their modules: a later file must not get the package loaded here.
    vi.resetModules()
  }
}
