/** The pinned tools of @playwright/mcp: an upgrade that changes one fails here. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { createConnection } from '@playwright/mcp'
import { expect, test } from 'vitest'
import { CAPABILITIES, offeredTools } from '../../src/capabilities/browser/offered.ts'
import pinned from '../../src/capabilities/browser/pinned-tools.json' with { type: 'json' }

test('the names, schemas and read-only marks of the package equal the pinned ones', async () => {
  const server = await createConnection({ capabilities: [...CAPABILITIES] }, () =>
    Promise.reject(new Error('no browser is wanted')),
  )
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  await client.connect(ours)
  const { tools } = await client.listTools()
  const found = tools.map(({ name, description, annotations, inputSchema }) => {
    // The caller chooses where files are written, never the model.
    const { filename: _, ...properties } = inputSchema.properties ?? {}
    const { $schema: __, ...input } = { ...inputSchema, properties } as Record<string, unknown>
    return { name, description, readOnly: annotations?.readOnlyHint === true, input }
  })
  expect(found).toEqual(pinned)
  await client.close()
})

test('offers only these tools, and two more when the operator enables them', () => {
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
