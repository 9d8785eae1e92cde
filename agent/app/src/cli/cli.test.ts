import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { createAnswerText } from './answer-text.ts'
import { type Io, defineCommand, takePositionals } from './command.ts'
import { eventLine } from './event-line.ts'
import { EXIT, UsageError } from '../exit.ts'
import { outageNotes } from './outage.ts'
import { jsonLine, oneLine, printable } from './terminal-text.ts'
import { terminalTime } from './terminal-time.ts'

const event = (type: string, data: object, id = 1): SessionEvent =>
  ({ id, session_id: 's', type, created_at: '2026-01-02T03:04:05.678Z', data }) as SessionEvent
const delta = (content: string, more: object = {}): SessionEvent =>
  event('llm.delta', { content, turn_id: 't', iteration_index: 0, ...more })
const response = (content: string): SessionEvent =>
  event('llm.response', { message: { role: 'assistant', content }, finish_reason: 'stop' })

function print(events: SessionEvent[]): { text: string; notes: string[]; answer: string; end: unknown } {
  const text = createAnswerText()
  const printed = events.map(text.take)
  return {
    text: printed.map(part => part.text ?? '').join(''),
    notes: printed.flatMap(part => part.note ?? []),
    answer: text.answer(),
    end: printed.at(-1)?.end,
  }
}

test('prints deltas as they arrive, and from the response only the rest', () => {
  expect(print([delta('Hel'), delta('lo'), response('Hello, you')])).toMatchObject({
    text: 'Hello, you\n',
    answer: 'Hello, you',
  })
  expect(print([response('All at once')]).text).toBe('All at once\n')
})

test('a retried answer starts over on a new line', () => {
  expect(print([delta('Hel'), delta('', { reset: true }), delta('Good'), response('Good day')]).text).toBe(
    'Hel\nGood day\n',
  )
  expect(print([delta('Hel'), response('Good day')]).text).toBe('Hel\nGood day\n')
})

test('exit code of a turn: completed 0, failed or stopped 1, question or pause 6', () => {
  const ends = [
    event('session.complete', { reason: 'completed' }),
    event('session.fail', { error_category: 'network', error: 'down' }),
    event('session.stopped', { reason: 'r' }),
    event('inbox.input_required', {
      questions: [{ prompt: 'Which?', choices: [{ label: 'a' }, { label: 'b' }] }],
    }),
    event('session.pause', {}),
  ].map(last => print([last]))
  expect(ends.map(({ end }) => (end as { code: number }).code)).toEqual([0, 1, 1, 6, 6])
  expect(ends[1]?.notes).toEqual(['failed (network): down'])
  expect(ends[3]?.notes).toEqual(['? Which? (a / b)'])
})

test('reports a broken connection once and the reconnection once', () => {
  const notes: string[] = []
  const onState = outageNotes(line => notes.push(line))
  for (const state of [
    'connecting',
    'live',
    'reconnecting',
    'reconnecting',
    'live',
    'draining',
    'reconnecting',
    'closed',
  ] as const)
    onState(state, state === 'reconnecting' ? { error: new Error('gone') } : {})
  expect(notes).toEqual([
    'connection lost: gone; reconnecting',
    'reconnected',
    'server is shutting down',
    'connection lost: gone; reconnecting',
  ])
})

test('prints an event on one line, whatever its content', () => {
  const line = eventLine(
    event(
      'tool.result',
      {
        tool_call_id: 'c',
        name: 'terminal',
        elapsed_ms: 12,
        content: `a\n\u001b]0;owned\u0007${'b'.repeat(500)}`,
      },
      42,
    ),
  )
  expect(line).toMatch(
    /^ {3}42 {2}03:04:05\.678 {2}tool\.result +terminal 12 ms · a \\u\{1B\}\]0;owned\\u\{07\}b+…$/,
  )
  expect(eventLine(event('some.future', { key: 1 }))).toContain('{"key":1}')
  expect(eventLine(event('tool.call', {}))).toContain('tool.call')
  expect(eventLine(event('llm.response', {}))).toMatch(/llm\.response +$|llm\.response$|\{\}/)
})

test('terminal text keeps its lines and shows escape sequences and hidden characters', () => {
  expect(printable('one\n\ttwo \u001b[31mred\u001b[0m \u009b1m \u202Egnp')).toBe(
    'one\n\ttwo \\u{1B}[31mred\\u{1B}[0m \\u{9B}1m \\u{202E}gnp',
  )
  expect(oneLine('  a\n b  ', 10)).toBe('a b')
})

test('JSON output keeps the value and contains no control or hidden characters', () => {
  const value = { a: '\u001b[2J \u009b1m \u202Ex\u200B \u{E0041} 日本語 ❤️ "\\u{202E}"' }
  const line = jsonLine(value)
  expect(JSON.parse(line)).toEqual(value)
  expect(line).not.toMatch(/(?!\n$)[\p{Cc}\p{Cf}]/u)
  expect(line).toContain('日本語 ❤')
})

test('rejects an invalid command line with a usage error', async () => {
  const out: string[] = []
  const io = { out: (text: string) => out.push(text) } as unknown as Io
  const command = defineCommand({
    name: 'x',
    summary: 's',
    usage: [
      ['x THING', 'does'],
      ['  --flag', 'more'],
    ],
    options: { flag: { type: 'boolean' } },
    run: ({ positionals }) =>
      Promise.resolve(
        takePositionals(positionals, ['the thing'])[0] === 'a' ? EXIT.ok.code : EXIT.failure.code,
      ),
  })
  expect(() => command.run(['--flaag'], io)).toThrow(UsageError)
  expect(() => command.run([], io)).toThrow('Missing the thing')
  expect(() => command.run(['a', 'b'], io)).toThrow('Unexpected argument "b"')
  expect(await command.run(['a', '--flag'], io)).toBe(0)
  expect(await command.run(['--help'], io)).toBe(0)
  expect(out.join('')).toBe('  cairn x THING  does\n    --flag       more\n')
})

test('a time is written in the zone of the terminal, with the year of another year', () => {
  const now = Date.UTC(2026, 10, 29, 12)
  expect(terminalTime('2026-11-29T02:04:36.979Z', now, 'Europe/Berlin')).toBe('29 Nov, 03:04')
  expect(terminalTime('2025-11-29T02:04:36.979Z', now, 'UTC')).toBe('29 Nov 2025, 02:04')
})
