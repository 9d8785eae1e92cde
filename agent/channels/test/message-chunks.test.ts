import { decodeEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { messageChunks } from '../src/message-chunks.ts'
import type { Delivering } from '../src/send-part.ts'

const LIMIT = 100
const delivering = {
  deps: { store: { sessions: { get: () => Promise.resolve(null) } } },
  connection: { publicUrl: null, adapter: { limits: { text: LIMIT } } },
} as unknown as Delivering

test('no part of a long answer is blank, so that no platform rejects it and loses the rest', async () => {
  const content = `first${'\n'.repeat(5 * LIMIT)}last`
  const message = { role: 'assistant', content }
  const event = { id: 1, session_id: 's', type: 'llm.response', created_at: '2026-11-22T12:00:00.000Z' }
  const chunks = await messageChunks(delivering, decodeEvent(JSON.stringify({ ...event, data: { message } })))
  expect(chunks.map(({ text }) => text.trim())).toEqual(['first', 'last'])
})
