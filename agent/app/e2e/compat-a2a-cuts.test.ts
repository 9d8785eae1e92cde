/**
 * The Agent2Agent project's own client over streams that break at random bytes: it repeats a message whose
 * answer was lost, and subscribes again to a task that it knows. What it holds in the end is the task of the
 * log. COMPAT_CUTS=1000 and COMPAT_SEED extend and repeat a run.
 */
import type { Message, Task } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { cuttingFetch } from '@cairn/compat/test/chat-client'
import { expect, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import {
  A2A_CONFIG,
  answerOf,
  applyFrame,
  data,
  dataOf,
  isAtRest,
  isWaiting,
  message,
  openA2a,
  request,
  text,
} from './a2a-client.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { seeded } from './seeded.ts'
import { makePlace, startServer, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const CUTS = Number(process.env['COMPAT_CUTS'] ?? 50)
const SEED = Number(process.env['COMPAT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** `broken` has the connections that break, `whole` those that do not. */
type Clients = { broken: Client; whole: Client }

/** A cut refusal, which is JSON, is to the client a stream of another type. */
const isCut = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  /network|terminated|fetch failed|Invalid response Content-Type/.test(String(error))

/** Repeats a message until its stream starts, then follows the task until it ends or waits for its caller. */
async function settle({ broken, whole }: Clients, sent: Message): Promise<Task> {
  let task: Task | null = null
  for (;;) {
    const stream =
      task === null
        ? broken.sendMessageStream(request(sent))
        : broken.resubscribeTask({ tenant: '', id: task.id })
    try {
      for await (const frame of stream) task = applyFrame(task, frame)
    } catch (error) {
      // A client cannot subscribe to a task that has ended.
      if (task !== null && /This task is over/.test(String(error)))
        return whole.getTask({ tenant: '', id: task.id })
      if (!isCut(error)) throw error
    }
    if (task !== null && isAtRest(task)) return task
  }
}

/** The decision or the answer that the task waits for. */
function reply(task: Task, approved: boolean): Message {
  const { approvals } = dataOf(task) as { approvals: { id: string }[] }
  const [gate] = approvals
  const decision = { decision: approved ? 'approve' : 'reject', approval: gate?.id }
  return message([gate === undefined ? text('red') : data(decision)], { taskId: task.id })
}

async function converse(clients: Clients, say: string, approved: boolean): Promise<Task> {
  let task = await settle(clients, message([text(say)]))
  while (isWaiting(task)) task = await settle(clients, reply(task, approved))
  return task
}

const TEXTS = ['plan it', 'run it', 'paint it', 'hello']
const ENDS = ['Planned, in words.', /It said|Then I leave it/, 'Red it is.', 'Hello there.']

/** Promise 4.24: A client of Agent2Agent whose streams break at random holds the task of the log. */
test(`${CUTS} random cuts lose and repeat nothing`, { timeout: PATIENCE_MS + CUTS * 5_000 }, async () => {
  console.log(`COMPAT_SEED=${SEED} COMPAT_CUTS=${CUTS}`)
  const random = seeded(SEED)
  const config = { ...CONFIG, ...A2A_CONFIG, limits: { delta_keep_s: 0.2 } }
  const place = makePlace({ scenario: SCENARIO, config })
  const { url, client } = await startService(place)
  const token = await localToken(place.dataDir)
  const made = { cuts: 0 }
  const nextCut = (): number | null => {
    if (random() < 0.25) return null
    made.cuts++
    return Math.floor(random() ** 2 * 6_000)
  }
  // The card is read over connections that do not break.
  const mode = { isBroken: false }
  const fails = cuttingFetch(nextCut)
  const ends = cuttingFetch(nextCut, fetch, { ends: true })
  const through: typeof fetch = (input, init) =>
    (!mode.isBroken ? fetch : random() < 0.5 ? fails : ends)(input, init)
  const clients = { broken: await openA2a(url, token, through), whole: await openA2a(url, token) }
  mode.isBroken = true
  let tasks = 0
  while (made.cuts < CUTS) {
    const at = tasks++ % TEXTS.length
    const task = await converse(clients, TEXTS[at] ?? '', random() < 0.5)
    expect(answerOf(task)).toMatch(ENDS[at] ?? '')
    expect(task).toEqual(await clients.whole.getTask({ tenant: '', id: task.id }))
    const said = (await readLog(client, task.contextId)).filter(
      event => event.type === 'user.message' && event.data.synthetic === undefined,
    )
    expect(said).toHaveLength(1)
  }
  console.log(`${made.cuts} cuts in ${tasks} tasks`)
})

const KILLS = Number(process.env['COMPAT_KILLS'] ?? 2)

test(
  `${KILLS} kills of the server lose and repeat nothing`,
  { timeout: PATIENCE_MS + KILLS * 60_000 },
  async () => {
    const random = seeded(SEED)
    const config = { ...CONFIG, ...A2A_CONFIG, limits: { lease_s: 2 } }
    const place = makePlace({ scenario: SCENARIO, config })
    let server = await startServer(place)
    const token = await localToken(place.dataDir)
    const mode = { isBroken: false }
    const moved: typeof fetch = (input, init) => {
      const { pathname, search } = new URL(String(input))
      return fetch(new URL(pathname + search, server.url), init)
    }
    const broken = cuttingFetch(() => (mode.isBroken ? Math.floor(random() * 3_000) : null), moved)
    const client = await openA2a(server.url, token, broken)
    for (let kill = 0; kill < KILLS; kill++) {
      const at = kill % TEXTS.length
      const sent = message([text(TEXTS[at] ?? '')])
      mode.isBroken = true
      try {
        for await (const _ of client.sendMessageStream(request(sent)));
      } catch (error) {
        if (!isCut(error)) throw error
      }
      await server.kill()
      server = await startServer(place)
      mode.isBroken = false
      const clients = { broken: client, whole: client }
      let task = await settle(clients, sent)
      while (isWaiting(task)) task = await settle(clients, reply(task, true))
      expect(answerOf(task)).toMatch(ENDS[at] ?? '')
      expect(task).toEqual(await client.getTask({ tenant: '', id: task.id }))
      expect(task.history).toHaveLength(1)
    }
  },
)
