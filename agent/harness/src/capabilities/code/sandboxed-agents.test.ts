import { Config } from '@cairn/protocol'
import { expect, test } from 'vitest'
import type { SandboxChoice } from '@cairn/sandbox'
import { findCodingAgents } from './sandboxed-agents.ts'

const config = Config.parse({})
const find = (provider: Partial<NonNullable<SandboxChoice['provider']>> | null) =>
  findCodingAgents({ config, dataDir: '/nowhere', sandbox: { provider, proxy: null } as SandboxChoice })

test('a process that opens no proxy lists the coding agents that a server here can run', () => {
  expect(find({ kind: 'bubblewrap', hasProxies: true })).toMatchObject({ reason: null, names: ['cairn'] })
})

test('reports no agents without a sandbox or a proxy that the sandbox can reach', () => {
  expect(find(null).reason).toContain('has no sandbox')
  expect(find({ kind: 'unboxed', hasProxies: false }).reason).toContain('unboxed')
  expect(find({ kind: 'bubblewrap', hasProxies: false }).reason).toContain('perl is missing')
})
