/**
 * npm run dev -- chaos:postgres [MINUTES]: three replicas and three runners on one Postgres under load, one
 * of them killed with -9 every five seconds. At the end every session must end, and every history is checked
 * against the acknowledgements of senders, the events that readers received, and the effects of commands.
 * CHAOS_SEED repeats the choices, not the timing. On a failure it exits with code 1 and prints the directory
 * of the logs.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type CairnClient, ConnectionError, createClient } from '@cairn/client'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { asError, type SessionEvent } from '@cairn/protocol'
import { stringify } from 'yaml'
import { localToken } from '../../agent/app/src/local/local-admin.ts'
import { startFleet } from './fleet.ts'
import { fourCommands } from '../../agent/app/e2e/four-commands.ts'
import { judge, type Observed } from '../../agent/app/e2e/history.ts'
import { seeded } from '../../agent/app/e2e/seeded.ts'

const MINUTES = Number(process.argv[2] ?? 10)
const SEED = Number(process.env['CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const KILL_EVERY_MS = 5_000
const SESSIONS_AT_ONCE = Number(process.env['CHAOS_SESSIONS'] ?? 6)
const TURNS_A_SESSION = 3
/** Maximum duration of a message, and of a turn after the last kill. */
const PATIENCE_MS = 180_000

const SCENARIO = fourCommands(15)
// Short leases, so that the sessions of a killed runner are found within the run. Deltas are kept, so that no
// event that a reader received may be missing.
const CONFIG = {
  models: {
    default: 'test/scripted',
    providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
  },
  limits: { lease_s: 6, delta_keep_s: 0, requests_per_minute: 1_000_000 },
}

type Watched = Observed & { asked: Set<string> }
const counts = {
  sessions: 0,
  messages_acknowledged: 0,
  retries: 0,
  streams: 0,
  events_shown: 0,
  events: 0,
  turns: 0,
  recovered: 0,
  unknown_outcomes: 0,
  given_up: 0,
  commands_run: 0,
}

const database = await makePostgresPlace()
const dir = mkdtempSync(join(tmpdir(), 'cairn-chaos-'))
const dataDir = join(dir, 'data')
writeFileSync(join(dir, 'scenario.yaml'), stringify(SCENARIO))
writeFileSync(join(dir, 'cairn.yaml'), stringify(CONFIG))
console.log(
  `CHAOS_SEED=${SEED}: ${MINUTES} minutes, a kill every ${KILL_EVERY_MS / 1000} s, ${SESSIONS_AT_ONCE} ` +
    `sessions at once; ${dir}`,
)
const fleet = await startFleet(dir, {
  DATABASE_URL: database.place,
  CAIRN_DATA: dataDir,
  CAIRN_CONFIG: join(dir, 'cairn.yaml'),
  LOG_LEVEL: 'info',
})
const random = seeded(SEED)
const clients = fleet.urls.map(baseUrl =>
  createClient({ baseUrl, token: () => localToken(dataDir), backoff: { baseMs: 100, maxMs: 1000 } }),
)
const anyClient = (): CairnClient => clients[Math.floor(random() * clients.length)]!
const watched = new Map<string, Watched>()
const over = new AbortController()
const problems: string[] = []

/**
 * Sends the same request to one replica after the other until one answers. The idempotency key makes it one
 * request.
 */
async function insist<T>(ask: (client: CairnClient) => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; ;) {
    try {
      return await ask(anyClient())
    } catch (error) {
      const passes = error instanceof ConnectionError || (error instanceof ApiError && error.retryable)
      if (!passes || Date.now() > deadline) throw error
      counts.retries += 1
      await delay(100 + random() * 400)
    }
  }
}

/** One reader per session. It switches replicas every few seconds and continues from its cursor. */
async function follow(id: string, { seen }: Watched): Promise<void> {
  let cursor = 0
  while (!over.signal.aborted) {
    const cut = AbortSignal.any([over.signal, AbortSignal.timeout(1000 + Math.floor(random() * 4000))])
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
      if (!(error instanceof ConnectionError) && !(error instanceof ApiError && error.retryable)) throw error
    }
  }
}

const isOver = async (id: string): Promise<boolean> => {
  const { status, last_event_id } = await insist(client => client.call('getSession', { params: { id } }))
  // A session that was created after the time was up has nothing to do.
  return status !== 'active' || last_event_id === 0
}

async function untilOver(id: string): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await isOver(id)); await delay(250)) {
    if (Date.now() > deadline) throw new Error(`session ${id} did not end in ${PATIENCE_MS / 1000} s`)
  }
}

const followers: Promise<void>[] = []
async function workload(lane: number, until: number): Promise<void> {
  while (Date.now() < until) {
    const key = randomUUID()
    const { id } = await insist(client => client.call('createSession', { body: {}, idempotencyKey: key }))
    const session: Watched = { acknowledged: [], seen: new Map(), asked: new Set() }
    watched.set(id, session)
    counts.sessions += 1
    followers.push(
      follow(id, session).catch(
        (error: unknown) => void problems.push(asError(error).stack ?? String(error)),
      ),
    )
    for (let turn = 0; turn < TURNS_A_SESSION && Date.now() < until; turn += 1) {
      const content = `job l${lane}n${counts.sessions}t${turn}`
      const messageKey = randomUUID()
      session.asked.add(content)
      const { event_id } = await insist(client =>
        client.call('sendMessage', { params: { id }, body: { content }, idempotencyKey: messageKey }),
      )
      session.acknowledged.push({ id: event_id, content })
      counts.messages_acknowledged += 1
      // Occasionally the next message arrives while the turn is still running.
      if (random() < 0.8) await untilOver(id)
    }
  }
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

async function examine(id: string, session: Watched): Promise<string[]> {
  const log = await readLog(id)
  const file = join(dir, 'workspaces', id, 'executions.txt')
  const executions = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(line => line !== '')
    : []
  const { status } = await insist(client => client.call('getSession', { params: { id } }))
  const messages = log.flatMap(event =>
    event.type === 'user.message' && typeof event.data.content === 'string' ? [event.data.content] : [],
  )
  const failure = log.find(event => event.type === 'session.fail')
  counts.events += log.length
  counts.commands_run += executions.length
  counts.turns += log.filter(({ type }) => type === 'turn.summary').length
  counts.recovered += log.filter(({ type }) => type === 'harness.recovered').length
  counts.unknown_outcomes += log.filter(
    event => event.type === 'tool.result' && event.data.content.includes('unknown'),
  ).length
  const found = [
    ...judge({ id, status, log, executions, ...session }),
    ...messages
      .filter((content, at) => messages.indexOf(content) !== at)
      .map(content => `the message "${content}" is there more than once`),
    ...messages.filter(content => !session.asked.has(content)).map(content => `nobody sent "${content}"`),
  ]
  // By design: a session whose runners died three times without progress is not tried again.
  const givenUp = failure?.type === 'session.fail' && failure.data.reason === 'recovery_loop'
  if (givenUp) counts.given_up += 1
  const problems = givenUp
    ? found.filter(problem => !problem.startsWith('a turn failed') && problem !== 'the session is failed')
    : found
  if (problems.length > 0)
    writeFileSync(join(dir, `${id}.jsonl`), log.map(event => `${JSON.stringify(event)}\n`).join(''))
  return problems.map(problem => `${id}: ${problem}`)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  const until = Date.now() + MINUTES * 60_000
  const load = Promise.all(Array.from({ length: SESSIONS_AT_ONCE }, (_, lane) => workload(lane, until)))
  const killing = (async () => {
    while (Date.now() < until) {
      await delay(KILL_EVERY_MS)
      await fleet.killOne(random)
    }
  })()
  await Promise.all([load, killing])
  for (const id of watched.keys()) await untilOver(id)
  over.abort()
  await Promise.all(followers)
  for (const [id, session] of watched) problems.push(...(await examine(id, session)))
} catch (error) {
  problems.push(asError(error).stack ?? String(error))
} finally {
  over.abort()
  const codes = await fleet.stop()
  problems.push(...fleet.surprises)
  if (codes.some(code => code !== 0)) problems.push(`processes ended with codes ${codes.join(', ')}`)
  await database.remove()
}
console.log(
  JSON.stringify(
    { seed: SEED, minutes: MINUTES, kills: fleet.kills, ...counts, problems: problems.length },
    null,
    2,
  ),
)
if (problems.length === 0) rmSync(dir, { recursive: true, force: true })
else {
  console.log(problems.slice(0, 50).join('\n'))
  console.log(`kept: ${dir}`)
  process.exitCode = 1
}
