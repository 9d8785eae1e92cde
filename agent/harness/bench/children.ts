/**
 * Workers on the embedded store, with a model that answers at once: how soon a worker that was spawned is
 * taken up, and how many there are a second when 64 sessions share their work out at the same time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openSqliteStore, type LogStore } from '@cairn/log'
import { Config, type EventType } from '@cairn/protocol'
import { addMessage, createSession } from '@cairn/sessions'
import { startHarness } from '../src/runner/runner.ts'
import { createModels } from '@cairn/models'
import { startScriptedServer } from '@cairn/scripted-model'
import { newId, owner } from './life-job.ts'

type Reading = { name: string; value: number; unit: string }

/** One after the other, beside nothing. */
const SPAWNS = 60
const WARM_UP = 10
/** At once: so many sessions, and so many workers of each. */
const PARENTS = 64
const CHILDREN = 8

export async function benchChildren(directory: string): Promise<Reading[]> {
  const dir = await mkdtemp(join(directory, 'cairn-bench-'))
  const store = await openSqliteStore({ dir: join(dir, 'log') })
  const server = await startScriptedServer({
    rules: [
      { when: { user: 'Goal:' }, answer: { text: 'Done, as you said.' } },
      { steps: [{ tool_calls: [delegate(1)] }, { text: 'That was it.' }], when: { user: 'one' } },
      { steps: [{ tool_calls: [delegate(CHILDREN)] }, { text: 'That was all.' }] },
    ],
  })
  const config = Config.parse({
    models: { default: 'demo/model', providers: { demo: { kind: 'scripted' } } },
    agents: { assistant: {} },
    limits: { concurrent_turns: PARENTS },
  })
  const harness = startHarness({
    store,
    models: createModels(config.models, {}, { demo: server.url }),
    tools: [],
    config,
    dataDir: dir,
    workspacesDir: join(dir, 'workspaces'),
    runnerId: newId(),
    newId,
    logger: (level, message) => void (level === 'error' && console.error(message)),
  })
  const deps = { store, now: Date.now, newId }
  const begin = async (content: string): Promise<string> => {
    const { id } = await createSession(deps, ['assistant'], { principal: owner, title: 'Titled' })
    await addMessage(deps, { session_id: id, content, principal: owner })
    return id
  }
  try {
    const taken_ms: number[] = []
    for (let n = 0; n < WARM_UP + SPAWNS; n += 1) {
      const parent = await begin('one')
      await done(store, parent)
      if (n >= WARM_UP) taken_ms.push(...(await takenUp(store, parent)))
    }
    const from = performance.now()
    const parents = await Promise.all(Array.from({ length: PARENTS }, () => begin('all')))
    await Promise.all(parents.map(id => done(store, id)))
    const passed_s = (performance.now() - from) / 1000
    const crowded_ms = (await Promise.all(parents.map(id => takenUp(store, id)))).flat()
    return [
      ...quantiles('worker.spawned → its first harness.wake', taken_ms),
      ...quantiles(`the same, ${PARENTS} sessions with ${CHILDREN} workers each at once`, crowded_ms),
      { name: 'workers, begun and ended', value: round((PARENTS * CHILDREN) / passed_s), unit: 'a second' },
    ]
  } finally {
    await harness.stop()
    await server.close()
    await store.close()
    await rm(dir, { recursive: true, force: true })
  }
}

const delegate = (count: number) => ({
  name: 'delegate_task',
  arguments: { goals: Array.from({ length: count }, (_, at) => ({ goal: `part ${at}` })) },
})

/** Resolves when the session has completed. */
async function done(store: LogStore, id: string): Promise<void> {
  const ended = Promise.withResolvers<void>()
  const look = async (): Promise<void> => {
    if ((await store.events.read(id, 0, 1, ['session.complete'])).length > 0) ended.resolve()
  }
  const unwatch = store.events.watch(id, () => void look().catch(ended.reject))
  await look()
  await ended.promise.finally(unwatch)
}

/** Milliseconds from the spawn of each worker to its first wake. */
async function takenUp(store: LogStore, parent: string): Promise<number[]> {
  const at = async (id: string, type: EventType): Promise<number> => {
    const [event] = await store.events.read(id, 0, 1, [type])
    if (event === undefined) throw new Error(`[bench] session ${id} has no ${type}`)
    return Date.parse((JSON.parse(event.json) as { created_at: string }).created_at)
  }
  const spawned = await at(parent, 'worker.spawned')
  const links = await store.links.children(parent)
  return Promise.all(links.map(async link => (await at(link.child_id, 'harness.wake')) - spawned))
}

const round = (value: number): number => Number(value.toPrecision(3))

function quantiles(name: string, values: readonly number[]): Reading[] {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0
  return [
    { name: `${name}, p50`, value: at(0.5), unit: 'ms' },
    { name: `${name}, p99`, value: at(0.99), unit: 'ms' },
  ]
}
