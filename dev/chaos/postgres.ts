/**
 * npm run dev -- chaos:postgres [MINUTES]: three replicas and three runners on one Postgres under load, one
 * of them killed with -9 every five seconds. At the end every session must end, and every history is checked
 * against the acknowledgements of senders, the events that readers received, and the effects of commands.
 * CHAOS_SEED repeats the choices, not the timing. On a failure it exits with code 1 and prints the directory
 * of the logs.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@cairn/client'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { asError } from '@cairn/protocol'
import { stringify } from 'yaml'
import { localToken } from '../../agent/app/src/local/local-admin.ts'
import { startFleet } from './fleet.ts'
import { createInsist } from './insist.ts'
import { createObserver, newCounts, startWatching, type Watched } from './observer.ts'
import { fourCommands } from '../../agent/app/e2e/four-commands.ts'
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

const counts = newCounts()
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
const { insist, anyClient } = createInsist({
  clients: fleet.urls.map(baseUrl =>
    createClient({ baseUrl, token: () => localToken(dataDir), backoff: { baseMs: 100, maxMs: 1000 } }),
  ),
  random,
  patienceMs: PATIENCE_MS,
  onRetry: () => void (counts.retries += 1),
})
const observer = createObserver({ insist, anyClient, random, counts, dir, patienceMs: PATIENCE_MS })
const watched = new Map<string, Watched>()
const over = new AbortController()
const problems: string[] = []

const followers: Promise<void>[] = []
async function workload(lane: number, until: number): Promise<void> {
  while (Date.now() < until) {
    const key = randomUUID()
    const { id } = await insist(client => client.call('createSession', { body: {}, idempotencyKey: key }))
    const session = startWatching()
    watched.set(id, session)
    counts.sessions += 1
    followers.push(
      observer
        .follow(id, session, over.signal)
        .catch((error: unknown) => void problems.push(asError(error).stack ?? String(error))),
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
      if (random() < 0.8) await observer.untilOver(id)
    }
  }
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
  for (const id of watched.keys()) await observer.untilOver(id)
  over.abort()
  await Promise.all(followers)
  for (const [id, session] of watched) problems.push(...(await observer.examine(id, session)).problems)
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
