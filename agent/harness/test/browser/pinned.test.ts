/** The tools of @playwright/mcp as they are pinned: an upgrade that changes one is seen here. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { createConnection } from '@playwright/mcp'
import { expect, test } from 'vitest'
import { CAPABILITIES, offeredTools } from '../../src/browser/offered.ts'
import pinned from '../../src/browser/pinned-tools.json' with { type: 'json' }

test('names, schemas and read-only marks of the package are those that are pinned', async () => {
  const server = await createConnection({ capabilities: [...CAPABILITIES] }, () =>
    Promise.reject(new Error('no browser is wanted')),
  )
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  await client.connect(ours)
  const { tools } = await client.listTools()
  const found = tools.map(({ name, description, annotations, inputSchema }) => {
    // Files are written where the package is told to, never where a model says.
    const { filename: _, ...properties } = inputSchema.properties ?? {}
    const { $schema: __, ...input } = { ...inputSchema, properties } as Record<string, unknown>
    return { name, description, readOnly: annotations?.readOnlyHint === true, input }
  })
  expect(found).toEqual(pinned)
  await client.close()
})

test('what is offered are these tools, and no others without a word of the operator', () => {
  const names = offeredTools({ evaluate: false, pdf: false }).map(({ name }) => name)
  for (const never of [
    'run_code_unsafe',
    'network_request',
    'drop',
    'resize',
    'evaluate',
    'pdf_save',
    'emulate_media',
  ])
    expect(names).not.toContain(`browser_${never}`)
  expect(names).toHaveLength(19)
  const asked = offeredTools({ evaluate: true, pdf: true }).map(({ name }) => name)
  expect(asked).toHaveLength(21)
})
