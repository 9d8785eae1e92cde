/**
 * `kill -9` at random moments (contract 7, 8, 11). Acknowledged messages and events that a reader received
 * stay, ids have no gap, a tool that may not run twice does not, and every turn ends. CRASH_ROUNDS and
 * CRASH_SEED extend and repeat a run; CRASH_ROUNDS=500 runs for hours.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, ConnectionError } from '@cairn/client'
import { makePostgresPlace } from '@cairn/log/test/postgres-place'
import { rounds as roundsOf } from '@cairn/protocol/test/sample'
import { expect, onTestFinished, test } from 'vitest'
import { fourCommands } from './four-commands.ts'
import { type Observed, judge } from './history.ts'
import { seeded } from './seeded.ts'
import { type Server, makePlace, startServer } from './server.ts'
import { PATIENCE_MS, endsTurn, isType, newSession, readLog, waitFor } from './session.ts'

const rounds = (usual: number): number => Number(process.env['CRASH_ROUNDS'] ?? usual)
const SEED = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const SESSIONS = 3
/** Maximum number of rounds, if none of the usual kills hit a turn. */
const MORE_ROUNDS = 20

const SCENARIO = fourCommands(10)

/** The server and its runner die. A database keeps running and keeps their leases until they expire. */
const STORES = {
  'the embedded store': {
    usual: roundsOf(15, 30),
    place: () => Promise.resolve(makePlace({ scenario: SCENARIO })),
  },
  Postgres: {
    usual: 6,
    place: async () => {
      const database = await makePostgresPlace()
      onTestFinished(database.remove)
      const place = makePlace({ scenario: SCENARIO, config: { limits: { lease_s: 2 } } })
      return { ...place, env: { ...place.env, DATABASE_URL: database.place } }
    },
  },
} as const

/** Promise 1.3: `kill -9` at any moment loses no event and repeats no effect. */
test.each(Object.entries(STORES))(
  'on %s, kills at random moments lose no event and run no tool twice',
  { timeout: PATIENCE_MS + rounds(30) * 30_000 },
  async (name, { usual, place: findPlace }) => {
    const ROUNDS = rounds(usual)
    console.log(`CRASH_SEED=${SEED} CRASH_ROUNDS=${ROUNDS} on ${name}`)
    const random = seeded(SEED)
    const place = await findPlace()
    const observed = new Map<string, Observed>()
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    let server: Server = await startServer(place)

    async function killInRound(round: number, inTurn: boolean): Promise<void> {
      const { client } = server
      if (round < SESSIONS) observed.set(await newSession(client), { acknowledged: [], seen: new Map() })
      const work = [...observed].flatMap(([id, observation], at) => {
        const content = `job r${round}s${at}`
        const connection = new AbortController()
        const reading = (async () => {
          for await (const batch of client.events(id, {
            signal: AbortSignal.any([stop.signal, connection.signal]),
          })) {
            for (const event of batch) observation.seen.set(event.id, JSON.stringify(event))
          }
        })()
        const writing = client.call('sendMessage', { params: { id }, body: { content } }).then(
          ({ event_id }) => void observation.acknowledged.push({ id: event_id, content }),
          // The server was killed before it answered: the message may or may not be stored, and nothing was
          // promised.
          (error: unknown) => {
            if (!(error instanceof ConnectionError) && !(error instanceof ApiError && error.retryable))
              throw error
          },
        )
        return [{ connection, reading, writing }]
      })
      // The range is from before the first commit to after the end of the turn. A turn takes about a second
      // here.
      const [session] = observed.keys()
      if (inTurn && session !== undefined) {
        await Promise.all(work.map(({ writing }) => writing))
        // A session that was abandoned (three deaths without progress) calls no tool before its next message.
        await waitFor(
          client,
          session,
          observed.get(session)?.acknowledged.at(-1)?.id ?? 0,
          event => event.type === 'tool.call' || endsTurn(event),
        )
        await sleep(random() * 50)
      } else {
        await sleep(random() ** 2 * 2000)
      }
      await server.kill()
      await Promise.all(work.map(({ writing }) => writing))
      for (const { connection } of work) connection.abort()
      await Promise.all(work.map(({ reading }) => reading))
      server = await startServer(place)
    }
    async function untilRest(): Promise<void> {
      for (const [id, { acknowledged }] of observed) {
        const last = acknowledged.at(-1)?.id ?? 0
        const patience = AbortSignal.any([stop.signal, AbortSignal.timeout(PATIENCE_MS)])
        if (last > 0) await server.client.waitFor(id, endsTurn, { after: last, signal: patience })
        // A message that was stored without an answer to its sender starts a turn as well.
        while ((await server.client.call('getSession', { params: { id } })).status === 'active') {
          await server.client.waitFor(id, endsTurn, {
            after:
              (await readLog(server.client, id)).findLast(event => event.type === 'user.message')?.id ?? 0,
            signal: patience,
          })
        }
      }
    }
    const hasRecovered = async (): Promise<boolean> =>
      (await Promise.all([...observed.keys()].map(id => readLog(server.client, id))))
        .flat()
        .some(isType('harness.recovered'))

    for (let round = 0; round < ROUNDS; round++) await killInRound(round, round % 3 === 1)
    await untilRest()
    // Whatever the speed of the machine, some kills hit a running turn.
    for (let more = 0; more < MORE_ROUNDS && !(await hasRecovered()); more++) {
      await killInRound(ROUNDS + more, true)
      await untilRest()
    }
    const problems: string[] = []
    let recovered = 0
    let unknown = 0
    for (const [id, observation] of observed) {
      const log = await readLog(server.client, id)
      const file = join(place.workspaces, id, 'executions.txt')
      const executions = existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .filter(line => line !== '')
        : []
      const { status } = await server.client.call('getSession', { params: { id } })
      const found = judge({ id, status, log, executions, ...observation })
      if (found.length > 0) {
        const kept = join(tmpdir(), `cairn-crash-${SEED}-${id}.jsonl`)
        writeFileSync(kept, log.map(event => `${JSON.stringify(event)}\n`).join(''))
        problems.push(...found.map(problem => `${kept}: ${problem}`))
      }
      recovered += log.filter(({ type }) => type === 'harness.recovered').length
      unknown += log.filter(
        event => event.type === 'tool.result' && event.data.content.includes('unknown'),
      ).length
    }
    const acknowledged = [...observed.values()].reduce(
      (sum, { acknowledged }) => sum + acknowledged.length,
      0,
    )
    console.log(
      `${name}: ${ROUNDS} kills, ${acknowledged} messages acknowledged, ${recovered} recoveries, ` +
        `${unknown} calls of unknown outcome`,
    )
    expect(problems, `CRASH_SEED=${SEED}`).toEqual([])
    expect(acknowledged).toBeGreaterThan(0)
    expect(recovered, 'the kills hit running turns').toBeGreaterThan(0)
  },
)
