/**
 * The load of a rehearsal: sessions with tools, approvals and streams, each with a message every few seconds
 * through the proxy. It records how long acknowledgements take.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@cairn/client'
import { asError } from '@cairn/protocol'
import type { Attempt, Insist } from '../chaos/insist.ts'
import type { Acknowledgement } from './acknowledgements.ts'
import { type Counts, type Observer, startWatching, type Watched } from '../chaos/observer.ts'

const append = (step: number): object => ({
  name: 'terminal',
  arguments: { command: `echo {{user.1}}.${step} >> executions.txt` },
})
const LONG = 'This answer is streamed in many small pieces, so that a reader is always within one. '.repeat(4)

/** Tool calls that make a log of more than 1,000 events, of which runners store a snapshot. */
const LONG_STEPS = 10
const CALLS_A_STEP = 55
/** Each call is another one: a call that repeats is a loop, which ends the turn. */
const search = (step: number, call: number): object => ({
  name: 'search_files',
  arguments: { pattern: `nothing ${step}.${call}` },
})

/** `fill X` makes a long log. `job X` runs two commands. `gated X` runs one that a person must approve. Each writes its label once. */
export const SCENARIO = {
  pace_ms: 20,
  chunk_chars: 8,
  rules: [
    {
      when: { user: 'person approved', step: 0 },
      answer: { tool_calls: [{ repeat: 'terminal' }] },
    },
    {
      when: { user: '^fill ' },
      steps: [
        ...Array.from({ length: LONG_STEPS }, (_step, step) => ({
          tool_calls: Array.from({ length: CALLS_A_STEP }, (_call, call) => search(step, call)),
        })),
        { text: 'The log is long now.' },
      ],
    },
    { when: { user: '^gated (\\S+)$', step: 0 }, answer: { tool_calls: [append(1)] } },
    {
      when: { user: '^job (\\S+)$' },
      steps: [
        { text: 'I begin with the first step.', tool_calls: [append(1)] },
        {
          text: 'A look around, and the last step.',
          tool_calls: [{ name: 'list_files', arguments: { path: '.' } }, append(2)],
        },
        { text: LONG },
      ],
    },
    { answer: { text: LONG } },
  ],
}

/**
 * Short leases, so that the sessions of a killed runner continue within the rehearsal. Deltas are kept, so
 * that no event that a reader received may be missing.
 */
export const CONFIG = {
  models: {
    default: 'test/scripted',
    providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
  },
  agents: { assistant: {}, careful: { governance: { require_approval: ['terminal'] } } },
  limits: { lease_s: 6, delta_keep_s: 0, requests_per_minute: 1_000_000 },
}

/** Every fourth session asks for approvals. */
const GATED_EVERY = 4
/** These sessions get a long log before their first job. */
const LONG_LANES = [1, 2]
/** Seconds between two messages of a session. */
const PAUSE_S = { min: 4, max: 16 }

type Options = {
  sessions: number
  insist: Insist
  observer: Observer
  random: () => number
  counts: Counts
}

export type Load = {
  watched: ReadonlyMap<string, Watched>
  /** Ids of the sessions with a long log. */
  long: ReadonlySet<string>
  /** Resolves when those logs are long. */
  filled: Promise<void>
  acknowledgements: readonly Acknowledgement[]
  approvals: () => number
  problems: readonly string[]
  /** Sends no more messages. Resolves when every turn is over and every stream has ended. */
  end(): Promise<void>
}

export function startLoad({ sessions, insist, observer, random, counts }: Options): Load {
  const watched = new Map<string, Watched>()
  const long = new Set<string>()
  const filling = new Map(
    LONG_LANES.filter(lane => lane < sessions).map(lane => [lane, Promise.withResolvers<void>()]),
  )
  const acknowledgements: Acknowledgement[] = []
  const problems: string[] = []
  const [stop, over] = [new AbortController(), new AbortController()]
  const followers: Promise<void>[] = []
  let approvals = 0
  const report = (error: unknown): void => void problems.push(asError(error).stack ?? String(error))
  const pause = (): Promise<void> =>
    delay((PAUSE_S.min + random() * (PAUSE_S.max - PAUSE_S.min)) * 1000, undefined, {
      signal: stop.signal,
    }).catch(() => undefined) // The end of the load ends the pause.

  async function send(id: string, session: Watched, content: string): Promise<void> {
    const key = randomUUID()
    const attempts: Attempt[] = []
    session.asked.add(content)
    const at = performance.now()
    const { event_id } = await insist(
      client => client.call('sendMessage', { params: { id }, body: { content }, idempotencyKey: key }),
      attempts,
    )
    acknowledgements.push({ at, ms: performance.now() - at, attempts, key })
    session.acknowledged.push({ id: event_id, content })
    counts.messages_acknowledged += 1
  }

  /** Approves until nothing is pending, which starts further turns. */
  async function approveAll(id: string): Promise<void> {
    for (;;) {
      const { items } = await insist(client =>
        client.call('listInbox', { query: { status: 'pending', kind: 'governance_gate', session_id: id } }),
      )
      if (items.length === 0) return
      for (const { id: item_id } of items) await approve(item_id)
      await observer.untilOver(id)
    }
  }

  async function approve(item_id: string): Promise<void> {
    try {
      await insist(client =>
        client.call('respondInbox', { params: { item_id }, body: { decision: 'approve' } }),
      )
      approvals += 1
    } catch (error) {
      // An earlier attempt, whose answer was lost, has approved it.
      const isApproved =
        error instanceof ApiError &&
        error.code === 'already_answered' &&
        error.problem['decision'] === 'approve'
      if (!isApproved) throw error
      approvals += 1
    }
  }

  async function run(lane: number): Promise<void> {
    const isGated = lane % GATED_EVERY === 0
    // The first messages do not come at once.
    await pause()
    const idempotencyKey = randomUUID()
    const { id } = await insist(client =>
      client.call('createSession', { body: { agent: isGated ? 'careful' : 'assistant' }, idempotencyKey }),
    )
    const session = startWatching()
    watched.set(id, session)
    counts.sessions += 1
    followers.push(observer.follow(id, session, over.signal).catch(report))
    if (LONG_LANES.includes(lane)) {
      long.add(id)
      await send(id, session, `fill l${lane}`)
      await observer.untilOver(id)
      filling.get(lane)?.resolve()
    }
    for (let turn = 0; !stop.signal.aborted; turn += 1) {
      await send(id, session, `${isGated ? 'gated' : 'job'} l${lane}t${turn}`)
      await observer.untilOver(id)
      if (isGated) await approveAll(id)
      await pause()
    }
  }

  const lanes = Array.from({ length: sessions }, (_, lane) =>
    run(lane)
      .catch(report)
      .finally(() => filling.get(lane)?.resolve()),
  )
  return {
    watched,
    long,
    filled: Promise.all([...filling.values()].map(({ promise }) => promise)).then(() => undefined),
    acknowledgements,
    problems,
    approvals: () => approvals,
    async end() {
      stop.abort()
      await Promise.all(lanes)
      over.abort()
      await Promise.all(followers)
    },
  }
}
