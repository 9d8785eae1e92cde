import { emptySessionView, type ChatItem } from '@cairn/state'
import { expect, test } from 'vitest'
import { chatMarkdown } from './chat-markdown.ts'

const at = { event_id: 1, created_at: '2026-01-02T03:04:05.000Z' }
const tool: ChatItem = {
  kind: 'tool',
  ...at,
  tool_call_id: 'c',
  name: 'terminal',
  arguments: { command: 'cat a.md' },
  status: 'done',
  content: 'a fence:\n```ts\n1\n```',
  elapsed_ms: 3,
}
const said: ChatItem = {
  kind: 'user',
  ...at,
  content: 'Read it',
  attachments: [],
  images: [],
  synthetic: null,
}

test('a chat as Markdown holds what was said and called, and no result closes its own fence', () => {
  const session = { id: 's', agent: 'assistant', title: null, created_at: at.created_at }
  const text = chatMarkdown(session, {
    ...emptySessionView,
    items: [said, { ...said, synthetic: 'goal' }, tool],
  })
  expect(text.startsWith('# Untitled session\n\nassistant, session s')).toBe(true)
  expect(text.match(/Read it/g)).toHaveLength(1)
  expect(text).toContain('### Tool terminal, done')
  expect(text).toContain('````\na fence:\n```ts\n1\n```\n````')
})
