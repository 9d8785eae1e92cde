import { expect, test } from 'vitest'
import { readAddress, toAgent, toPart } from './agents-address.ts'

test('an address names an agent, a shared part, all agents, or nothing', () => {
  expect(readAddress('')).toEqual({ at: 'home' })
  expect(readAddress(toAgent('release.bot-2')._splat)).toEqual({ at: 'agent', name: 'release.bot-2' })
  expect(readAddress(toPart('mcp-servers')._splat)).toEqual({ at: 'part', part: 'mcp-servers' })
  // An agent may be named like a shared part.
  expect(readAddress(toAgent('models')._splat)).toEqual({ at: 'agent', name: 'models' })
  for (const unknown of ['-/', '-/secrets', 'a/b', '-/models/x']) expect(readAddress(unknown)).toBeNull()
})
