/**
 * npm run dev -- chaos:children [MINUTES]: three replicas and three runners on one Postgres, trees of 49
 * sessions, one of the six processes killed with -9 every five seconds. At the end every tree must have
 * ended, and every history and every session tree must be valid. CHAOS_SEED repeats the choices, not the
 * timing. On a failure it exits with code 1 and prints the directory of the logs.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@cairn/client'
import { openPostgresStore } from '@cairn/log'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { asError, decodeEvent, type SessionEvent } from '@cairn/protocol'
import { checkHistory, checkTree } from '@cairn/verify'
import { stringify } from 'yaml'
import { localToken } from '../../agent/app/src/local/local-admin.ts'
import { startFleet } from './fleet.ts'
import { createInsist } from './insist.ts'
import { seeded } from '../../agent/app/e2e/seeded.ts'

const MINUTES = Number(process.argv[2] ?? 10)
const SEED = Number(process.env['CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const KILL_EVERY_MS = 5_000
const TREES_AT_ONCE = Number(process.env['CHAOS_TREES'] ?? 3)
const BRANCHES = 6
const LEAVES = 7
/** Maximum duration of a request, and of a tree after the last kill. */
const PATIENCE_MS = 300_000

const delegate = (count: number, goal: string, more: Record<string, unknown> = {}) => ({
  name: 'delegate_task',
  arguments: { goals: Array.from({ length: count }, (_, at) => ({ goal: `${goal} ${at}`, ...more })) },
})
const SCENARIO = {
  rules: [
    { when: { user: 'Goal:\\s+leaf' }, answer: { text: 'A leaf.' } },
    {
      when: { user: 'Goal:\\s+branch' },
      steps: [{ tool_calls: [delegate(LEAVES, 'leaf')] }, { text: 'A branch with leaves.' }],
    },
    {
      steps: [{ tool_calls: [delegate(BRANCHES, 'branch', { role: 'orchestrator' })] }, { text: 'A tree.' }],
    },
  ],
}
const CONFIG = {
  models: {
    default: 'test/scripted',
    providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
  },
  limits: { lease_s: 6, requests_per_minute: 1_000_000 },
}

const counts = { trees: 0, sessions: 0, events: 0, recovered: 0, given_up: 0, failed_workers: 0, retries: 0 }
const database = await makePostgresPlace()
const dir = mkdtempSync(join(tmpdir(), 'cairn-chaos-'))
const dataDir = join(dir, 'data')
writeFileSync(join(dir, 'scenario.yaml'), stringify(SCENARIO))
writeFileSync(join(dir, 'cairn.yaml'), stringify(CONFIG))
console.log(`CHAOS_SEED=${SEED}: ${MINUTES} minutes, ${TREES_AT_ONCE} trees at once; ${dir}`)
const fleet = await startFleet(dir, {
  DATABASE_URL: database.place,
  CAIRN_DATA: dataDir,
  CAIRN_CONFIG: join(dir, 'cairn.yaml'),
  LOG_LEVEL: 'info',
})
const random = seeded(SEED)
const { insist } = createInsist({
  clients: fleet.urls.map(baseUrl =>
    createClient({ baseUrl, token: () => localToken(dataDir), backoff: { baseMs: 100, maxMs: 1000 } }),
  ),
  random,
  patienceMs: PATIENCE_MS,
  onRetry: () => void (counts.retries += 1),
})
const trees: string[] = []
const problems: string[] = []

async function growTree(): Promise<void> {
  const [key, messageKey] = [randomUUID(), randomUUID()]
  const { id } = await insist(client => client.call('createSession', { body: {}, idempotencyKey: key }))
  trees.push(id)
  await insist(client =>
    client.call('sendMessage', {
      params: { id },
      body: { content: 'grow a tree' },
      idempotencyKey: messageKey,
    }),
  )
  for (const deadline = Date.now() + PATIENCE_MS; ; await delay(250)) {
    const { status } = await insist(client => client.call('getSession', { params: { id } }))
    if (status !== 'active') return
    if (Date.now() > deadline) throw new Error(`tree ${id} did not end in ${PATIENCE_MS / 1000} s`)
  }
}

async function examine(): Promise<void> {
  const store = await openPostgresStore({ url: database.place, readOnly: true })
  const logsOf = async (id: string): Promise<[string, SessionEvent[]][]> => {
    const log = (await store.events.read(id, 0, 100_000)).map(({ json }) => decodeEvent(json))
    const links = await store.links.children(id)
    for (const { child_id, status } of links)
      if (status === 'open') problems.push(`${child_id}: its tree has ended, and its link is open`)
    return [[id, log], ...(await Promise.all(links.map(link => logsOf(link.child_id)))).flat()]
  }
  try {
    for (const root of trees) {
      const logs = new Map(await logsOf(root))
      problems.push(...checkTree(logs, { settled: true }))
      for (const [id, log] of logs) {
        problems.push(...checkHistory(log, { settled: true }).map(what => `${id}: ${what}`))
        note(log)
      }
    }
    problems.push(...(await store.check()))
  } finally {
    await store.close()
  }
}

function note(log: readonly SessionEvent[]): void {
  counts.sessions += 1
  counts.events += log.length
  counts.recovered += log.filter(({ type }) => type === 'harness.recovered').length
  counts.failed_workers += log.filter(({ type }) => type === 'worker.failed').length
  // By design: a session whose runners died three times without progress is not tried again.
  counts.given_up += log.filter(({ type }) => type === 'session.fail').length
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  const until = Date.now() + MINUTES * 60_000
  const lane = async (): Promise<void> => {
    while (Date.now() < until) await growTree()
  }
  const killing = async (): Promise<void> => {
    while (Date.now() < until) {
      await delay(KILL_EVERY_MS)
      await fleet.killOne(random)
    }
  }
  await Promise.all([killing(), ...Array.from({ length: TREES_AT_ONCE }, lane)])
  counts.trees = trees.length
  await examine()
} catch (error) {
  problems.push(asError(error).stack ?? String(error))
} finally {
  const codes = await fleet.stop()
  problems.push(...fleet.surprises)
  if (codes.some(code => code !== 0)) problems.push(`processes ended with codes ${codes.join(', ')}`)
  await database.remove()
}
const report = { seed: SEED, minutes: MINUTES, kills: fleet.kills, ...counts, problems: problems.length }
console.log(JSON.stringify(report, null, 2))
if (problems.length === 0) rmSync(dir, { recursive: true, force: true })
else {
  console.log(problems.slice(0, 50).join('\n'))
  console.log(`kept: ${dir}`)
  process.exitCode = 1
}
