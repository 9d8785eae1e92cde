import { expect, test } from 'vitest'
import type { EventType, ReadData, SessionEvent } from '@cairn/protocol'
import { emptyConversation, foldConversation } from './conversation.ts'
import type { Conversation } from './messages.ts'

let next = 1
const event = <T extends EventType>(type: T, data: ReadData<T>): SessionEvent =>
  ({
    id: next++,
    session_id: 's',
    type,
    created_at: '2026-01-01T00:00:00.000Z',
    data,
  }) as unknown as SessionEvent
const user = (content: string) => event('user.message', { content })
const answer = (content: string, calls: { id: string; name: string }[] = [], finish_reason = 'stop') =>
  event('llm.response', {
    message: {
      role: 'assistant',
      content,
      ...(calls.length
        ? {
            tool_calls: calls.map(call => ({
              id: call.id,
              type: 'function' as const,
              function: { name: call.name, arguments: '{}' },
            })),
          }
        : {}),
    },
    model: 'demo/m',
    input_tokens: 1,
    output_tokens: 1,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason,
    context_window: 1000,
  })
const call = (tool_call_id: string, name = 'read_file') =>
  event('tool.call', { tool_call_id, name, arguments: {} })
const result = (tool_call_id: string, content = 'ok') =>
  event('tool.result', { tool_call_id, name: 'read_file', content, elapsed_ms: 1 })
const fold = (...events: SessionEvent[]): Conversation => events.reduce(foldConversation, emptyConversation)
const roles = (conversation: Conversation) => conversation.entries.map(entry => entry.message.role)
const texts = (conversation: Conversation) => conversation.entries.map(entry => entry.message.content)

test('messages and answers keep the order of the log', () => {
  expect(texts(fold(user('a'), answer('b'), user('c')))).toEqual(['a', 'b', 'c'])
})

test('a message that arrives while a call is open is deferred until its result', () => {
  const open = fold(user('a'), answer('', [{ id: 'c1', name: 'read_file' }]), call('c1'), user('steer'))
  expect(roles(open)).toEqual(['user', 'assistant'])
  expect(open.open).toMatchObject([{ tool_call_id: 'c1', state: 'called' }])
  const closed = foldConversation(open, result('c1'))
  expect(texts(closed)).toEqual(['a', '', 'ok', 'steer'])
  expect(closed.open).toEqual([])
})

test('every call of a response gets its result before the next message', () => {
  const half = fold(
    user('a'),
    answer('', [
      { id: 'c1', name: 'x' },
      { id: 'c2', name: 'y' },
    ]),
    call('c1'),
    result('c1'),
    user('steer'),
  )
  expect(half.open.map(c => [c.tool_call_id, c.state])).toEqual([['c2', 'asked']])
  expect(roles(half)).toEqual(['user', 'assistant', 'tool'])
  expect(roles(foldConversation(half, result('c2')))).toEqual(['user', 'assistant', 'tool', 'tool', 'user'])
})

const responses = [{ question: 'Which?', answer: 'this' }]
const asked = () =>
  fold(
    user('a'),
    answer('', [{ id: 'q', name: 'ask_user_question' }]),
    call('q', 'ask_user_question'),
    event('inbox.input_required', { tool_call_id: 'q', questions: [{ prompt: 'Which?' }] }),
  )
const reply = () => event('ask_user_question.response', { tool_call_id: 'q', responses })
const request = () => event('llm.request', { model: 'm', turn_id: 't', iteration_index: 1 })

test('an answered question stays open until its tool.result, which the model reads once', () => {
  expect(asked().open).toMatchObject([{ tool_call_id: 'q', state: 'waiting' }])
  const answered = [reply(), user('and hurry')].reduce(foldConversation, asked())
  expect(answered.open).toMatchObject([{ tool_call_id: 'q', state: 'answered', answered: { responses } }])
  expect(roles(answered)).toEqual(['user', 'assistant'])
  const concluded = [result('q', 'as it was written down'), request()].reduce(foldConversation, answered)
  expect(concluded.open).toEqual([])
  expect(texts(concluded)).toEqual(['a', '', 'as it was written down', 'and hurry'])
  expect(concluded.entries[2]).toMatchObject({
    event_id: answered.open[0]?.answered?.event_id,
    message: { role: 'tool', tool_call_id: 'q' },
  })
})

/** Promise 7.12: Logs of older releases without the `tool.result` of an answered question remain readable. */
test('in logs of older releases without that tool.result, the model reads the answer itself', () => {
  const old = [reply(), user('and hurry'), request()].reduce(foldConversation, asked())
  expect(old.open).toEqual([])
  expect(texts(old)).toEqual(['a', '', JSON.stringify({ responses }), 'and hurry'])
  expect(foldConversation(old, result('q', 'too late')).entries).toEqual(old.entries)
})

test('a second answer to a question changes nothing', () => {
  const answered = foldConversation(asked(), reply())
  const again = event('ask_user_question.response', {
    tool_call_id: 'q',
    responses: [{ question: 'Which?', answer: 'another' }],
  })
  expect(foldConversation(answered, again)).toEqual(answered)
})

test('a second result of the same call changes nothing', () => {
  const done = fold(user('a'), answer('', [{ id: 'c1', name: 'x' }]), call('c1'), result('c1', 'first'))
  expect(foldConversation(done, result('c1', 'second'))).toBe(done)
})

test('pictures of a result stay beside its message, as paths', () => {
  const pictures = [{ path: '.cairn/results/c1-1.png', mime_type: 'image/png' as const }]
  const folded = fold(
    user('a'),
    answer('', [{ id: 'c1', name: 'x' }]),
    call('c1'),
    event('tool.result', { tool_call_id: 'c1', name: 'x', content: 'see', elapsed_ms: 1, pictures }),
  )
  expect(folded.entries.at(-1)).toMatchObject({ pictures, message: { role: 'tool', content: 'see' } })
  expect(folded.entries.at(-1)?.message).not.toHaveProperty('pictures')
})

test('an empty answer is left out of the conversation', () => {
  expect(roles(fold(user('a'), answer('')))).toEqual(['user'])
})

test('a slash command and its reply are hidden from the model; a skill and plain text are not', () => {
  expect(
    texts(
      fold(
        user('/help'),
        answer('Commands: …', [], 'command'),
        user('/goal ship it'),
        user('/review a.ts'),
        user('/etc/hosts'),
      ),
    ),
  ).toEqual(['/review a.ts', '/etc/hosts'])
})

test('a compaction replaces the entries before it and keeps those after it', () => {
  const first = user('old')
  const before = fold(first, answer('older'), user('late'))
  const late = before.entries[2]!.event_id
  const compacted = foldConversation(
    before,
    event('context.compact', {
      strategy: 'summary',
      original_message_count: 2,
      compressed_message_count: 1,
      through_event_id: late - 1,
      compacted_messages: [{ role: 'user', content: 'summary' }],
    }),
  )
  expect(texts(compacted)).toEqual(['summary', 'late'])
})

test('an expanded skill replaces the text of its own message only', () => {
  const message = user('/review this')
  const other = user('plain')
  const folded = fold(
    message,
    other,
    event('skill.invoked', {
      skill: 'review',
      raw_message: '/review this',
      staged_at: null,
      user_message_id: message.id,
      expanded: 'Follow these steps',
    }),
  )
  expect(texts(folded)).toEqual(['Follow these steps', 'plain'])
})
