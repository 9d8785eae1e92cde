import { rmSync } from 'node:fs'
import { GovernanceConfig } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { makeFolder } from '../../test/tools/tool-context.ts'
import { gate } from './gate.ts'
import { defineTool } from './parameters.ts'

/** It checks nothing itself, so only the gate can. */
const careless = defineTool({
  name: 'careless',
  description: 'd',
  parameters: z.strictObject({ path: z.string(), url: z.string() }),
  readOnly: true,
  idempotent: true,
  paths: ['path'],
  urls: ['url'],
  run: () => Promise.resolve({ content: 'ran' }),
})

test.each([
  ['notes.txt', 'https://example.org/', null],
  ['../notes.txt', 'https://example.org/', 'workspace_containment'],
  ['/etc/passwd', 'https://example.org/', 'workspace_containment'],
  ['notes.txt', 'https://evil.example/', 'egress'],
])('decides about a call with path %s and address %s for a tool without checks', async (path, url, rule) => {
  const workspace = makeFolder('gate')
  onTestFinished(() => rmSync(workspace, { recursive: true }))
  const policy = GovernanceConfig.parse({ egress: { deny: ['evil.example'] } })
  const decision = await gate(
    { policy, agentTools: ['careless'], workspace, findGrant: () => Promise.resolve(null) },
    careless,
    { path, url },
    'hash',
  )
  expect(decision).toMatchObject(rule === null ? { allow: true } : { allow: false, policy_id: rule })
})
