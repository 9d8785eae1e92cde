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

test('a chat as Markdown has its messages and calls, and no result closes its own fence', () => {
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

test('the Markdown of a fork has the earlier messages, and a message lists its files', () => {
  const text = chatMarkdown(
    { id: 's', agent: 'assistant', title: 'Fork', created_at: at.created_at },
    {
      ...emptySessionView,
      items: [
        {
          kind: 'history',
          imported: null,
          ...at,
          forked_from: { session_id: 'origin', event_id: 7 },
          messages: [
            { role: 'user', content: 'Count them' },
            {
              role: 'assistant',
              content: 'I count.',
              tool_calls: [
                {
                  id: 'c',
                  type: 'function',
                  function: { name: 'terminal', arguments: '{"command":"wc -l a"}' },
                },
              ],
            },
            { role: 'tool', tool_call_id: 'c', content: '3 a' },
          ],
        },
        {
          ...said,
          attachments: [{ filename: 'b.txt', path: 'uploads/b.txt', mime_type: 'text/plain', size: 1 }],
        },
      ],
    },
  )
  expect(text).toContain('## You, earlier\n\nCount them\n\n## Answer, earlier\n\nI count.')
  expect(text).toContain('### Tool terminal\n\n```\n{"command":"wc -l a"}\n```\n\n```\n3 a\n```')
  expect(text).toContain('> Earlier messages are from session origin.')
  expect(text).toContain('Attached: b.txt (uploads/b.txt)')
})
