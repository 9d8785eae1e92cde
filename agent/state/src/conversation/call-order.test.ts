import { expect, test } from 'vitest'
import { inCallOrder } from './call-order.ts'
import type { ConversationMessage } from './messages.ts'

const asked = (...ids: string[]): ConversationMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
})
const result = (tool_call_id: string): ConversationMessage => ({
  role: 'tool',
  tool_call_id,
  content: tool_call_id,
})
const user: ConversationMessage = { role: 'user', content: 'q' }

test('results of parallel calls are sorted into the order of the calls', () => {
  expect(
    inCallOrder([
      user,
      asked('c', 'a', 'b'),
      result('a'),
      result('b'),
      result('c'),
      user,
      asked('y', 'x'),
      result('x'),
      result('y'),
    ]),
  ).toEqual([
    user,
    asked('c', 'a', 'b'),
    result('c'),
    result('a'),
    result('b'),
    user,
    asked('y', 'x'),
    result('y'),
    result('x'),
  ])
})

test('messages that are in order, unfinished or without their call stay unchanged', () => {
  for (const messages of [
    [],
    [user],
    [asked('a', 'b'), result('b')],
    [result('lost'), user, asked('a'), result('a')],
    [{ role: 'assistant', content: 'x' } as const, user],
  ])
    expect(inCallOrder(messages)).toEqual(messages)
})
