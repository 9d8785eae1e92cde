import type { ConversationEntry } from '@cairn/state'
import { expect, test } from 'vitest'
import { shorten, summaryMessage, textOfSummary } from './summary-message.ts'
import { transcribe } from './transcript.ts'

const said = (content: string, event_id = 1): ConversationEntry => ({
  event_id,
  message: { role: 'user', content },
})
const state = {
  todos: [{ id: '1', content: 'paint the fence', status: 'pending' as const }],
  goal: { description: 'a fine fence', rubric: 'no drips', status: 'active' as const },
  waiting: ['approval of the call of note'],
  workers: [{ worker_id: 'w-1', agent: 'assistant', goal: 'mix the paint' }],
}

test('shortens long results to their beginning and end, and names calls', () => {
  const text = transcribe(
    [
      said('go'),
      {
        event_id: 2,
        message: {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } }],
        },
      },
      { event_id: 3, message: { role: 'tool', tool_call_id: 'a', content: `BEGIN${'-'.repeat(50_000)}END` } },
    ],
    1_000_000,
  )
  expect(text).toContain('[calls look {"at":"x"}]')
  expect(text).toMatch(/BEGIN-+….*characters left out.*-+END$/s)
  expect(text.length).toBeLessThan(2000)
})

test('cuts a text that is too long in the middle, within the maximum', () => {
  const entries = Array.from({ length: 200 }, (_, index) => said(`message ${index} ${'x'.repeat(200)}`))
  const text = transcribe(entries, 5000)
  expect(text.length).toBeLessThanOrEqual(5000)
  expect(text).toContain('message 0 ')
  expect(text).toContain('message 199 ')
  expect(text).toMatch(/\[… \d+ messages left out …\]/)
  expect(transcribe([said('y'.repeat(90_000))], 1000).length).toBeLessThanOrEqual(1000)
})

test('the summary message has the plan, the goal and open items, and the next transcript omits them', () => {
  const message = summaryMessage({ kind: 'summary', text: 'It went well.' }, state)
  for (const part of [
    'It went well.',
    '- [pending] 1: paint the fence',
    'a fine fence',
    'no drips',
    '- approval of the call of note',
    '- w-1 (assistant): mix the paint',
  ])
    expect(message.content).toContain(part)
  expect(transcribe([{ event_id: 1, message }], 10_000)).toBe(
    '[Summary of the conversation so far]\nIt went well.',
  )
})

test('without a model keeps the last summary and the newest user messages, shortened', () => {
  const summary = summaryMessage({ kind: 'summary', text: 'It went well.' }, state)
  const { kind, text } = shorten([
    { event_id: 1, message: summary },
    ...Array.from({ length: 50 }, (_, index) => said(`wish ${index}: ${'x'.repeat(500)}`, index + 2)),
  ])
  expect(kind).toBe('shortened')
  expect(text).toContain(textOfSummary(summary.content))
  expect(text).toContain('wish 49')
  expect(text).not.toContain('wish 0:')
  expect(text.length).toBeLessThan(13_000)
})
