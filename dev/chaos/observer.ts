/**
 * What a chaos run sees of its sessions from outside: their streams, whether they are over, and in the end
 * each history beside what was acknowledged, received and executed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { CairnClient } from '@cairn/client'
import type { SessionEvent } from '@cairn/protocol'
import { judge, type Observed } from '../../agent/app/e2e/history.ts'
import { type Insist, passes } from './insist.ts'

/** `asked`: the texts of all messages that were sent, acknowledged or not. */
export type Watched = Observed & { asked: Set<string> }
export const startWatching = (): Watched => ({ acknowledged: [], seen: new Map(), asked: new Set() })

export const newCounts = () => ({
  sessions: 0,
  messages_acknowledged: 0,
  retries: 0,
  streams: 0,
  events_shown: 0,
  events: 0,
  turns: 0,
  wakes: 0,
  recovered: 0,
  unknown_outcomes: 0,
  given_up: 0,
  commands_run: 0,
})
export type Counts = ReturnType<typeof newCounts>

type Options = {
  insist: Insist
  anyClient: () => CairnClient
  random: () => number
  counts: Counts
  /** Has the folder `workspaces`. Histories with problems are written here. */
  dir: string
  /** Maximum duration of a turn. */
  patienceMs: number
}
export type Observer = {
  /**
   * Reads a session's stream until the signal. Reconnects every few seconds and continues from its cursor.
   */
  follow(id: string, watched: Watched, over: AbortSignal): Promise<void>
  untilOver(id: string): Promise<void>
  /** The whole log of a session, and the problems of its history. */
  examine(id: string, watched: Watched): Promise<{ log: SessionEvent[]; problems: string[] }>
}

export function createObserver(options: Options): Observer {
  const { insist, anyClient, random, counts, dir, patienceMs } = options

  const isOver = async (id: string): Promise<boolean> => {
    const { status, last_event_id } = await insist(client => client.call('getSession', { params: { id } }))
    // A session that was created after the time was up has nothing to do.
    return status !== 'active' || last_event_id === 0
  }

  async function readLog(id: string): Promise<SessionEvent[]> {
    const events: SessionEvent[] = []
    for (;;) {
      const page = await insist(client =>
        client.call('pollEvents', { params: { id }, query: { after: events.at(-1)?.id ?? 0, limit: 1000 } }),
      )
      events.push(...(page.events as unknown as SessionEvent[]))
      if (!page.has_more) return events
    }
  }

  return {
    async follow(id, { seen }, over) {
      let cursor = 0
      while (!over.aborted) {
        const cut = AbortSignal.any([over, AbortSignal.timeout(1000 + Math.floor(random() * 4000))])
        counts.streams += 1
        try {
          for await (const batch of anyClient().events(id, { after: cursor, signal: cut })) {
            for (const event of batch) {
              if (event.id !== cursor + 1)
                throw new Error(`a reader of ${id} at ${cursor} was given event ${event.id}`)
              seen.set(event.id, JSON.stringify(event))
              cursor = event.id
              counts.events_shown += 1
            }
          }
        } catch (error) {
          if (!passes(error)) throw error
        }
      }
    },
    async untilOver(id) {
      for (const deadline = Date.now() + patienceMs; !(await isOver(id)); await delay(250)) {
        if (Date.now() > deadline) throw new Error(`session ${id} did not end in ${patienceMs / 1000} s`)
      }
    },
    async examine(id, watched) {
      const log = await readLog(id)
      const { status } = await insist(client => client.call('getSession', { params: { id } }))
      const executions = readExecutions(join(dir, 'workspaces', id, 'executions.txt'))
      countEvents(counts, log, executions.length)
      const found = [
        ...judge({ id, status, log, executions, ...watched }),
        ...checkMessages(log, watched.asked),
      ]
      const problems = isGivenUp(log)
        ? found.filter(problem => !problem.startsWith('a turn failed') && problem !== 'the session is failed')
        : found
      if (problems.length > 0)
        writeFileSync(join(dir, `${id}.jsonl`), log.map(event => `${JSON.stringify(event)}\n`).join(''))
      return { log, problems: problems.map(problem => `${id}: ${problem}`) }
    },
  }
}

const readExecutions = (file: string): string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(line => line !== '')
    : []

/** By design: a session whose runners died three times without progress is not tried again. */
export function isGivenUp(log: readonly SessionEvent[]): boolean {
  const failure = log.find(event => event.type === 'session.fail')
  return failure?.type === 'session.fail' && failure.data.reason === 'recovery_loop'
}

function countEvents(counts: Counts, log: readonly SessionEvent[], executions: number): void {
  counts.events += log.length
  counts.commands_run += executions
  counts.turns += log.filter(({ type }) => type === 'turn.summary').length
  counts.wakes += log.filter(({ type }) => type === 'harness.wake').length
  counts.recovered += log.filter(({ type }) => type === 'harness.recovered').length
  counts.unknown_outcomes += log.filter(
    event => event.type === 'tool.result' && event.data.content.includes('unknown'),
  ).length
  if (isGivenUp(log)) counts.given_up += 1
}

/** Each message that was sent is there at most once, and no other one. */
function* checkMessages(log: readonly SessionEvent[], asked: ReadonlySet<string>): Generator<string> {
  const messages = log.flatMap(event =>
    event.type === 'user.message' &&
    event.data.synthetic === undefined &&
    typeof event.data.content === 'string'
      ? [event.data.content]
      : [],
  )
  for (const [at, content] of messages.entries()) {
    if (messages.indexOf(content) !== at) yield `the message "${content}" is there more than once`
    if (!asked.has(content)) yield `no client sent "${content}"`
  }
}
