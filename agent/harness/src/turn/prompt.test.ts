import { emptyConversation } from '@cairn/state'
import { expect, test } from 'vitest'
import { composeMessages } from './prompt.ts'

test('the model gets results in the order of its calls, whichever finished first', () => {
  const asked = {
    role: 'assistant',
    content: '',
    tool_calls: ['a', 'b'].map(id => ({
      id,
      type: 'function' as const,
      function: { name: 'f', arguments: '{}' },
    })),
  } as const
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: id }) as const
  const entries = [asked, result('b'), result('a')].map((message, index) => ({
    event_id: index + 1,
    message,
  }))
  expect(composeMessages('S', { ...emptyConversation, entries }, [])).toEqual([
    { role: 'system', content: 'S' },
    asked,
    result('a'),
    result('b'),
  ])
})
