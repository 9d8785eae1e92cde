/**
 * docs/compatible-apis.md: what each API shows of each event, and what it has and Cairn has not. The tables
 * are made by the code that serves the APIs: each event is folded at the end of a small log, and mapped.
 */
import type { SessionRow, StoredEvent } from '@cairn/log'
import { type EventType, EVENT_TYPES, type SessionEvent } from '@cairn/protocol'
import { tableCell } from '@cairn/protocol/generate'
import { REFUSED_METHODS } from './a2a/rpc.ts'
import { REFUSED_FIELDS as A2A_REFUSED } from './a2a/send.ts'
import { type StreamFrame, TaskWriter } from './a2a/tasks.ts'
import { RunWriter } from './ag-ui/events.ts'
import { REFUSED_FIELDS as AG_UI_REFUSED } from './ag-ui/request.ts'
import { createChunkWriter } from './ai-sdk/chunks.ts'
import { REFUSED_FIELDS as AI_SDK_REFUSED } from './ai-sdk/request.ts'
import { eventOf } from './changes/change.ts'
import { type Changed, followSession } from './changes/exchange.ts'
import { FOLDED_TYPES } from './changes/fold.ts'
import { EventWriter } from './managed-agents/events.ts'
import { REFUSED_RESOURCES } from './managed-agents/routes.ts'
import { REFUSED_EVENTS } from './managed-agents/send.ts'
import { REFUSED_FIELDS } from './managed-agents/sessions.ts'
import { NO_EFFECT, REFUSED } from './openai/request.ts'
import { followResponse } from './openai/responses.ts'
import { SAMPLES, type Sample } from './samples.ts'

const SESSION_ID = '00000000-0000-4000-8000-000000000000'

/** A sample as a log. */
const logOf = ({ before, event }: Sample): SessionEvent[] =>
  [...before, event].map(([type, data], at) => {
    const created_at = '2026-01-01T00:00:00.000Z'
    return { id: at + 1, session_id: SESSION_ID, type, created_at, data } as SessionEvent
  })

/** A store that holds one log. */
const storeOf = (log: readonly SessionEvent[]) => ({
  events: {
    read: (_: string, after: number, limit: number, types?: readonly string[]): Promise<StoredEvent[]> =>
      Promise.resolve(
        log
          .filter(({ id, type }) => id > after && (types === undefined || types.includes(type)))
          .slice(0, limit)
          .map(event => ({ id: event.id, type: event.type as EventType, json: JSON.stringify(event) })),
      ),
    watch: () => () => undefined,
  },
})
type Store = ReturnType<typeof storeOf>

/** What an API sends for the last event of a log. */
type Shows = (changed: readonly Changed[], store: Store) => Promise<string[]> | string[]

const lastOf = (changed: readonly Changed[]): Changed => {
  const last = changed.at(-1)
  if (last === undefined) throw new Error('[generate] a sample is empty')
  return last
}
const endOf = ({ changes }: Changed) => changes.find(({ kind }) => kind === 'ended')

const openai: Shows = async (changed, store) => {
  const { event } = lastOf(changed)
  const starts = changed.filter(each => each.starts).map(each => each.event.id)
  const leave = new AbortController()
  const session = { id: SESSION_ID, agent: 'assistant' } as SessionRow
  const types: string[] = []
  for (const start of starts) {
    const ref = { session, exchange: 1, start }
    for await (const page of followResponse({ store: store as never }, ref, leave.signal)) {
      for (const { position, data } of page.frames) if (eventOf(position) === event.id) types.push(data.type)
      if (page.atEnd || page.isOver) break
    }
  }
  return types
}

const aiSdk: Shows = changed => {
  const writer = createChunkWriter('s')
  const last = lastOf(changed)
  const types: string[] = []
  for (const each of changed)
    for (const change of each.changes) {
      const chunks = writer.take(change)
      if (each === last) types.push(...chunks.map(({ type }) => type))
    }
  const end = endOf(last)
  if (end?.kind === 'ended') types.push(...writer.finish(end.end, end.open).map(({ type }) => type))
  return types
}

const managedAgents: Shows = changed => {
  const writer = new EventWriter()
  return lastFrames(changed, each => writer.take(each)).map(({ data, preview }) =>
    preview ? `${data.type} (preview)` : data.type,
  )
}

const agUi: Shows = changed => {
  const writer = new RunWriter()
  const last = lastOf(changed)
  const events = lastFrames(changed, each => writer.take(each))
  const begins = last.changes.some(({ kind }) => kind === 'begun')
  const end = endOf(last)
  const place = { threadId: '', runId: '' }
  const ended = end?.kind === 'ended' ? writer.finish(place, end.end, end.open) : []
  return [
    ...(begins ? ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT'] : []),
    ...[...events, ...ended].map(({ type, name }) => (type === 'CUSTOM' ? `CUSTOM ${String(name)}` : type)),
  ]
}

const a2a: Shows = changed => {
  const writer = new TaskWriter({ taskId: '', contextId: SESSION_ID }, '')
  return lastFrames(changed, each => writer.take(each)).map(nameOfFrame)
}

function nameOfFrame(frame: StreamFrame): string {
  const { statusUpdate } = frame
  if (typeof statusUpdate !== 'object' || statusUpdate === null || !('status' in statusUpdate))
    return Object.keys(frame).join()
  const { status } = statusUpdate
  return typeof status === 'object' && status !== null && 'state' in status ? String(status.state) : ''
}

/** What the last of these made. */
function lastFrames<F>(changed: readonly Changed[], take: (each: Changed) => F[]): F[] {
  let frames: F[] = []
  for (const each of changed) frames = take(each)
  return frames
}

const APIS: Record<string, Shows> = {
  'AI SDK': aiSdk,
  OpenAI: openai,
  'Managed Agents': managedAgents,
  'AG-UI': agUi,
  A2A: a2a,
}

async function changesOf(store: Store): Promise<Changed[]> {
  const changed: Changed[] = []
  const leave = new AbortController()
  // From the beginning of the log, so that what comes before the first message is folded too.
  for await (const page of followSession(store as never, SESSION_ID, 0, leave.signal)) {
    changed.push(...page.changed)
    if (page.atEnd) break
  }
  return changed
}

/** One row for each sample: what it is, and the frames of each API. */
async function eventRows(): Promise<string[]> {
  const missing = FOLDED_TYPES.filter(type => !SAMPLES.some(({ event: [of] }) => of === type))
  if (missing.length > 0)
    throw new Error(`[generate] agent/compat/src/samples.ts has no sample of ${missing.join(', ')}`)
  const rows: string[] = []
  for (const sample of SAMPLES) {
    const store = storeOf(logOf(sample))
    const changed = await changesOf(store)
    const cells: string[] = []
    for (const shows of Object.values(APIS)) {
      const types = [...new Set(await shows(changed, store))]
      cells.push(types.map(type => `\`${type}\``).join(', '))
    }
    const what = sample.case === undefined ? '' : `, ${sample.case}`
    rows.push(`| \`${sample.event[0]}\`${what} | ${cells.map(tableCell).join(' | ')} |`)
  }
  return rows
}

const list = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ')

/** What each API has and Cairn has not: the name, and the reason that the answer gives. */
const refusals = (): [string, string, string][] => [
  ...Object.entries(AI_SDK_REFUSED).map(([name, why]): [string, string, string] => ['AI SDK', name, why]),
  ...Object.entries(REFUSED).map(([name, { why }]): [string, string, string] => ['OpenAI', name, why]),
  ...Object.entries({ ...REFUSED_RESOURCES, ...REFUSED_FIELDS, ...REFUSED_EVENTS }).map(
    ([name, why]): [string, string, string] => ['Managed Agents', name, why],
  ),
  ...Object.entries(AG_UI_REFUSED).map(([name, why]): [string, string, string] => ['AG-UI', name, why]),
  ...Object.entries(A2A_REFUSED).map(([name, why]): [string, string, string] => ['A2A', name, why]),
  ...Object.entries(REFUSED_METHODS).map(([name, { message }]): [string, string, string] => [
    'A2A',
    name,
    message,
  ]),
]

/** The text of docs/compatible-apis.md. */
async function compatibleApisPage(): Promise<string> {
  const apis = Object.keys(APIS)
  const others = EVENT_TYPES.length - new Set(SAMPLES.map(({ event: [type] }) => type)).size
  return [
    '# Compatible APIs',
    '',
    '*Reference. For developers of clients of other APIs.*',
    '',
    '<!-- Generated by `npm run gen` from agent/compat/src/. Do not edit. -->',
    '',
    'Sessions are served to clients of these APIs from the same log:',
    '',
    '| API | below | guide |',
    '|---|---|---|',
    '| Vercel AI SDK | `/compat/ai-sdk/chat` | [Vercel AI SDK](ai-sdk.md) |',
    "| OpenAI's Responses and Conversations | `/compat/openai/v1` | [OpenAI](openai-api.md) |",
    '| Claude Managed Agents | `/compat/anthropic/v1` | [Claude Managed Agents](managed-agents.md) |',
    '| AG-UI | `/compat/ag-ui/{agent}` | [AG-UI](ag-ui.md) |',
    '| Agent2Agent | `/compat/a2a/{agent}` | [Agent2Agent](a2a.md) |',
    '',
    '## What each API shows of each event',
    '',
    'A row is an [event](events.md) at the end of a small log, and what each API sends for it. An empty',
    `cell means that the API does not show the event. No API shows the other ${others} types.`,
    '',
    `| event | ${apis.join(' | ')} |`,
    `|---|${apis.map(() => '---|').join('')}`,
    ...(await eventRows()),
    '',
    '## What is refused',
    '',
    'A field, event, resource or method that an API has and Cairn has not is refused by its name, in the',
    'form of errors of that API. Unknown fields are refused too, except those of A2A, which are ignored. The',
    'guides list what depends on values.',
    '',
    '| API | name | reason |',
    '|---|---|---|',
    ...refusals().map(([api, name, why]) => `| ${api} | \`${name}\` | ${tableCell(why)} |`),
    '',
    '## What is accepted without effect',
    '',
    '| API | names |',
    '|---|---|',
    `| OpenAI | ${list(NO_EFFECT)} |`,
    '| AI SDK | `metadata`; other fields that are empty |',
    '| AG-UI | `state`, which the service sent itself; `context` and `forwardedProps`, which the run reports as `cairn.ignored` |',
    '| Managed Agents | the headers `anthropic-beta` and `anthropic-workspace-id` |',
    '| A2A | `acceptedOutputModes`, `metadata` |',
    '',
  ].join('\n')
}

export const generated = async (): Promise<Record<string, string>> => ({
  'docs/compatible-apis.md': await compatibleApisPage(),
})
