import { expect, test } from 'vitest'
import { toHarmony } from './conversation.ts'

const call = (id: string, name: string) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: '{}' },
})

test('splits a message with several calls into one per call, each followed by its result', () => {
  const made = toHarmony([
    { role: 'user', content: 'both' },
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'hm',
      tool_calls: [call('a', 'f'), call('b', 'g'), call('c', 'h')],
    },
    { role: 'tool', content: 'of b', tool_call_id: 'b' },
    { role: 'tool', content: 'of a', tool_call_id: 'a' },
    { role: 'user', content: 'more' },
  ])
  expect(made).toEqual([
    { role: 'user', content: 'both' },
    { role: 'assistant', content: null, thinking: 'hm', tool_calls: [call('a', 'f')] },
    { role: 'tool', content: 'of a', tool_call_id: 'a' },
    { role: 'assistant', tool_calls: [call('b', 'g')] },
    { role: 'tool', content: 'of b', tool_call_id: 'b' },
    { role: 'assistant', tool_calls: [call('c', 'h')] },
    { role: 'user', content: 'more' },
  ])
})

test("renames reasoning to the template's key and keeps a message with one call unchanged", () => {
  const given = [
    { role: 'assistant', content: '', reasoning_content: 'so', tool_calls: [call('a', 'f')] },
    { role: 'tool', content: 'x' },
    { role: 'assistant', content: 'y', thinking: 'own', reasoning_content: 'other' },
  ]
  expect(toHarmony(given)).toEqual([
    { role: 'assistant', content: '', thinking: 'so', tool_calls: [call('a', 'f')] },
    { role: 'tool', content: 'x' },
    { role: 'assistant', content: 'y', thinking: 'own' },
  ])
})
