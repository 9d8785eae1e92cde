/** The pure parts of the Run view: the visible part of the axis, its labels, keys, filter and sentences. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventType, SessionEvent } from '@cairn/protocol'
import { createAxis, emptySpanFold, foldSpans, rowsOfRun, type SpanRow, type Spans } from '@cairn/state'
import { matcherOf, NO_RUN_FILTER } from '../src/run/run-filter.ts'
import { runCommandOf } from '../src/run/run-keys.ts'
import { readRunSearch } from '../src/run/run-search.ts'
import { countFailures, failureFrom, rowOfSelection } from '../src/run/selection.ts'
import { createSpanTables } from '../src/run/span-tables.ts'
import { chipsOf, sentenceOf, spokenDuration, textOfRow } from '../src/run/span-text.ts'
import { formatElapsed, labelledBreaks, stepOf, ticksIn } from '../src/run/ticks.ts'
import { turnFacts, turnNumber, turnOf } from '../src/run/turn-facts.ts'
import { createViewport, fitted } from '../src/run/viewport.ts'

const START = Date.UTC(2026, 0, 1)
type Line = [seconds: number, type: EventType, data: object]
const logOf = (lines: readonly Line[]): SessionEvent[] =>
  lines.map(
    ([seconds, type, data], at) =>
      ({
        id: at + 1,
        session_id: 's',
        type,
        created_at: new Date(START + seconds * 1000).toISOString(),
        data,
      }) as SessionEvent,
  )
const run = (id: string, from: number, to: number, code: number): Line[] => [
  [from, 'tool.call', { tool_call_id: id, name: 'terminal', arguments: { command: `npm ${id}` } }],
  [
    to,
    'tool.result',
    { tool_call_id: id, name: 'terminal', content: `{"exit_code":${code}}`, elapsed_ms: 1 },
  ],
]
const LOG = logOf([
  [0, 'user.message', { content: 'Fix it' }],
  ...run('test', 91, 122, 3),
  ...run('build', 122, 123, 0),
  [124, 'session.complete', { reason: 'completed' }],
  [130, 'user.message', { content: 'Again' }],
  ...run('retry', 131, 140, 1),
  [141, 'session.complete', { reason: 'completed' }],
])

function spansOf(events: readonly SessionEvent[]): Spans {
  const fold = emptySpanFold()
  foldSpans(fold, events)
  return fold.spans
}
const SPANS = spansOf(LOG)
const TABLES = new Map([['s', SPANS]])
const rowsWith = (filter = NO_RUN_FILTER, isOpen?: boolean): SpanRow[] =>
  rowsOfRun({ session: 's', tables: TABLES, isOpen: () => isOpen, matches: matcherOf(filter) })

const manualTimers = () => {
  let due: (() => void) | null = null
  return {
    timers: {
      start(run: () => void) {
        due = run
        return 1
      },
      stop() {
        due = null
      },
    },
    settle: () => due?.(),
  }
}

test('a port stays within the axis and never becomes empty, whatever is asked', () => {
  const number = fc.double({ min: -1e7, max: 1e7, noNaN: true })
  fc.assert(
    fc.property(number, number, fc.double({ min: 50, max: 1e7, noNaN: true }), (from, width, length) => {
      const port = fitted({ from, width }, length)
      expect(port.width).toBeGreaterThan(0)
      expect(port.from).toBeGreaterThanOrEqual(0)
      expect(port.from + port.width).toBeLessThanOrEqual(length * (1 + 1e-12))
    }),
  )
})

test('the whole run stays visible as it grows; a pinned end moves a zoomed port, and a free one stays', () => {
  const { timers, settle } = manualTimers()
  const viewport = createViewport(timers)
  let settled = 0
  viewport.onSettled(() => (settled += 1))
  viewport.setLength(1000, true)
  expect(viewport.port).toEqual({ from: 0, width: 1000 })
  viewport.zoom(0.5, 1000)
  expect(viewport.port).toEqual({ from: 500, width: 500 })
  expect(viewport.isWhole).toBe(false)
  viewport.setLength(1200, true)
  expect(viewport.port).toEqual({ from: 700, width: 500 })
  viewport.setLength(1500, false)
  expect(viewport.port).toEqual({ from: 700, width: 500 })
  settle()
  expect([settled, viewport.settled]).toEqual([1, 1])
  viewport.showWhole()
  viewport.setLength(1600, false)
  expect(viewport.port).toEqual({ from: 0, width: 1600 })
})

test('labels keep their distance, skip breaks, and cost nothing for a long break', () => {
  const axis = createAxis({ from: 0, to: 90 * 86_400_000 }, [{ from: 60_000, to: 90 * 86_400_000 - 60_000 }])
  const port = { from: 0, width: axis.length }
  const ticks = ticksIn(axis, port, 600, false)
  expect(labelledBreaks(axis, port, 600)).toEqual(axis.breaks)
  expect(labelledBreaks(axis, port, 60)).toEqual([])
  expect(ticks.length).toBeGreaterThan(1)
  expect(ticks.length).toBeLessThan(8)
  expect(ticks.every(({ elapsedMs }) => elapsedMs <= 60_000 || elapsedMs >= 90 * 86_400_000 - 60_000)).toBe(
    true,
  )
  expect(stepOf({ from: 0, width: 600_000 }, 600)).toBe(120_000)
})

test('elapsed times are clocks, with parts of a second only where the axis shows them', () => {
  expect([0, 91_000, 3_840_000, 183_600_000].map(ms => formatElapsed(ms))).toEqual([
    '0:00',
    '1:31',
    '1:04:00',
    '2 d 03:00',
  ])
  expect(formatElapsed(1250, 50)).toBe('0:01.25')
})

test('a failed command is a sentence with its exit code, its duration and its start', () => {
  const row = rowsWith()[1]!
  const text = textOfRow(SPANS, row, 0)
  expect(text).toEqual({ icon: 'terminal', verb: 'Run', object: 'npm test', isCode: true })
  expect(sentenceOf(SPANS, row, text, { durationMs: 31_000, elapsedMs: 91_000 })).toBe(
    'Run npm test, failed, exit 3, 31 seconds, starts at 1 minute 31',
  )
  expect(chipsOf(SPANS, row)).toEqual([{ tone: 'bad', text: 'exit 3' }])
  expect([400, 1000, 61_000, 3_600_000].map(spokenDuration)).toEqual([
    '400 milliseconds',
    '1 second',
    '1 minute 1',
    '1 hour',
  ])
})

test('a filter folds away what does not match, and turns without a match', () => {
  expect(rowsWith().map(({ span }) => span)).toEqual([0, 1, 2, 3, 4])
  expect(rowsWith({ ...NO_RUN_FILTER, text: 'build' }).map(({ span }) => span)).toEqual([0, 2])
  expect(rowsWith({ ...NO_RUN_FILTER, failedOnly: true }).map(({ span }) => span)).toEqual([0, 1, 3, 4])
  expect(rowsWith({ ...NO_RUN_FILTER, kind: 'worker' })).toEqual([])
})

test('failures are found in both directions, also in closed turns', () => {
  expect(countFailures(SPANS)).toBe(2)
  expect(failureFrom(SPANS, 0, 1)).toBe(2)
  expect(failureFrom(SPANS, 2, 1)).toBe(8)
  expect(failureFrom(SPANS, 8, 1)).toBeNull()
  expect(failureFrom(SPANS, 0, -1)).toBe(8)
  expect(failureFrom(SPANS, 8, -1)).toBe(2)
})

test('an event selects the row of its step, which is nowhere while its turn is closed', () => {
  const open = rowsWith()
  expect([2, 3, 5].map(event => rowOfSelection(open, TABLES, { session: 's', event }))).toEqual([1, 1, 2])
  expect(rowOfSelection(rowsWith(NO_RUN_FILTER, false), TABLES, { session: 's', event: 2 })).toBe(-1)
  expect(rowOfSelection(open, TABLES, { session: 'other', event: 2 })).toBe(-1)
})

test('turns are numbered, and each span knows its turn', () => {
  expect(turnFacts(SPANS).turns).toEqual([0, 3])
  expect([turnNumber(SPANS, 0), turnNumber(SPANS, 3)]).toEqual([1, 2])
  expect([0, 1, 2, 3, 4].map(span => turnOf(SPANS, span))).toEqual([0, 0, 0, 3, 3])
})

test('reports to the page add up to the fold, whatever the batches', () => {
  // The last turn gets its name after it has started.
  const late = logOf([
    ...Array.from(LOG, () => [0, 'llm.heartbeat', {}] as Line),
    [150, 'session.resume', {}],
    [151, 'user.message', { content: 'Late' }],
  ])
  const events = [...LOG, ...late.slice(LOG.length)]
  const spans = spansOf(events)
  expect(spans.objects.at(-1)).toBe('Late')
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: events.length }), { maxLength: 5 }), cuts => {
      const tables = createSpanTables()
      const names: string[] = []
      const objects: string[] = []
      const facts = new Map<number, unknown>()
      let kinds: number[] = []
      const edges = [0, ...cuts.toSorted((a, b) => a - b), events.length]
      for (const [at, edge] of edges.entries()) {
        tables.receive({ kind: 'add', session: 's', events: events.slice(edges[at - 1] ?? 0, edge) })
        for (const report of tables.report()) {
          names.splice(report.textsFrom, names.length, ...report.names)
          objects.splice(report.textsFrom, objects.length, ...report.objects)
          for (const [span, one] of report.facts) facts.set(span, one)
          kinds = Array.from(report.columns.kind)
        }
      }
      expect(names).toEqual(spans.names)
      expect(objects).toEqual(spans.objects)
      expect(facts).toEqual(spans.facts)
      expect(kinds).toEqual(Array.from(spans.kind.subarray(0, spans.count)))
      expect(tables.report()).toEqual([])
    }),
  )
})

test('an address is read as far as it makes sense', () => {
  const none = { at: undefined, of: undefined, from: 0, to: undefined }
  expect(readRunSearch({})).toEqual(none)
  expect(readRunSearch({ at: 'x', of: 7, from: -1, to: {} })).toEqual(none)
  expect(readRunSearch({ at: '12', of: 'w1', from: 0, to: 500 })).toEqual({
    at: 12,
    of: 'w1',
    from: 0,
    to: 500,
  })
})

test('keys act in the rows; on a control only letters and Escape do', () => {
  const key = (name: string, more = {}) => ({
    key: name,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    ...more,
  })
  expect(runCommandOf(key('J'), false)).toBe('down')
  expect(runCommandOf(key('ArrowLeft'), false)).toBe('close-row')
  expect(runCommandOf(key('ArrowLeft'), true)).toBeNull()
  expect(runCommandOf(key('Enter'), true)).toBeNull()
  expect(runCommandOf(key('n'), true)).toBe('next-failure')
  expect(runCommandOf(key('Escape'), true)).toBe('out')
  expect(runCommandOf(key('f', { ctrlKey: true }), false)).toBeNull()
  expect(runCommandOf(key('x'), false)).toBeNull()
})
