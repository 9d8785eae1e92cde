/** The facts of the selected step: times, usage, outcome, policy, arguments and result. */
import type { ReactNode } from 'react'
import type { EventOf, SessionEvent } from '@cairn/protocol'
import { hasFlag, isOpen, kindOf } from '@cairn/state'
import { Rating } from '../chat/rating.tsx'
import { JsonView } from '../events/json-view.tsx'
import { formatCost, formatCount, formatDuration } from '../format.ts'
import { CodeBlock } from '../code/code-block.tsx'
import { runWords } from '../words/run.ts'
import { eventsWords } from '../words/events.ts'
import '../events/events.css'
import { isOfStep } from './reading-events.tsx'
import { formatElapsed } from './ticks.ts'
import type { Run } from './use-run.ts'

const WORDS = runWords.facts
type Fact = [name: string, value: ReactNode]

type Props = { run: Run; events: readonly SessionEvent[]; session: string; onEvent: (id: number) => void }

export function ReadingDetails({ run, events, session, onEvent }: Props) {
  const spans = run.source.tables.get(session)
  if (spans === undefined || run.span === -1) return null
  const from = spans.event[run.span] ?? 0
  const last = spans.last[run.span] ?? from
  const first = events.find(({ id }) => id === from)
  const own = events.filter(event => isOfStep(event, first, last))
  const call = own.find(isType('tool.call'))
  const result = own.findLast(isType('tool.result'))
  const response = own.find(isType('llm.response'))
  return (
    <div className="run-details" data-testid="reading-details">
      <dl className="facts numeric">
        {[...timesOf(run, session), ...(response ? usageOf(response) : []), ...policyOf(own)].map(
          ([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
        {response !== undefined && (
          <div>
            <dt>{eventsWords.rate}</dt>
            <dd>
              <Rating sessionId={session} eventId={response.id} rating={null} />
            </dd>
          </div>
        )}
      </dl>
      {call !== undefined && (
        <section>
          <h3>{WORDS.arguments}</h3>
          <JsonView value={call.data.arguments} onJump={onEvent} />
        </section>
      )}
      {result !== undefined && (
        <section>
          <h3>{WORDS.result}</h3>
          <Result content={result.data.content} onEvent={onEvent} />
        </section>
      )}
    </div>
  )
}

const isType =
  <T extends SessionEvent['type']>(type: T) =>
  (event: SessionEvent): event is EventOf<T> & SessionEvent =>
    event.type === type

function timesOf(run: Run, session: string): Fact[] {
  const { axis, span, now, source } = run
  const spans = source.tables.get(session)
  if (spans === undefined) return []
  const from = spans.from[span] ?? 0
  const isRunning = isOpen(spans, span)
  const to = isRunning ? now : (spans.to[span] ?? now)
  const active = axis.active(from, to)
  const clock = (ms: number): string => new Date(ms).toLocaleString('en-GB')
  const share = (spans.first[span] ?? 0) / 255
  return [
    [WORDS.kind, runWords.kindNames[kindOf(spans, span)]],
    [WORDS.outcome, outcomeOf(run, session)],
    [WORDS.started, clock(from)],
    [WORDS.elapsed, formatElapsed(Math.max(0, from - axis.from))],
    [WORDS.ended, isRunning ? WORDS.open : clock(to)],
    [WORDS.duration, formatDuration(to - from)],
    ...(to - from - active > 1000 ? [[WORDS.active, formatDuration(active)] as Fact] : []),
    ...(share > 0 ? [[WORDS.firstToken, formatDuration(share * (to - from))] as Fact] : []),
  ]
}

function outcomeOf({ span, source }: Run, session: string): string {
  const spans = source.tables.get(session)
  if (spans === undefined || isOpen(spans, span)) return WORDS.open
  const flags = ['approved', 'rejected', 'failed', 'missed', 'interrupted'] as const
  const flag = flags.find(one => hasFlag(spans, span, one))
  return runWords.outcomes[flag ?? 'ok']
}

function usageOf({ data }: EventOf<'llm.response'>): Fact[] {
  return [
    [WORDS.model, data.model],
    [
      WORDS.input,
      eventsWords.turnFacts.cached(formatCount(data.input_tokens), formatCount(data.cache_read_tokens)),
    ],
    [WORDS.output, formatCount(data.output_tokens)],
    [WORDS.cost, data.cost_usd === undefined ? WORDS.notReported : formatCost(data.cost_usd)],
    [WORDS.finish, data.finish_reason],
  ]
}

/** What the policy said about the call. */
function policyOf(events: readonly SessionEvent[]): Fact[] {
  return events.flatMap((event): Fact[] => {
    if (event.type === 'policy.denied') return [[WORDS.policy, runWords.denied(event.data.reason)]]
    if (event.type === 'policy.allowed' && 'reason' in event.data)
      return [[WORDS.policy, runWords.allowed(String(event.data.reason))]]
    return []
  })
}

function Result({ content, onEvent }: { content: string; onEvent: (id: number) => void }) {
  const value = objectIn(content)
  if (value !== undefined) return <JsonView value={value} onJump={onEvent} />
  return <CodeBlock label={WORDS.result} code={content} language="" />
}

/** The value of a result that is JSON; undefined for a text, which may also begin with a brace. */
function objectIn(content: string): unknown {
  if (!/^\s*[[{]/.test(content)) return undefined
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}
