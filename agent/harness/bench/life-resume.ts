/**
 * A service that was started anew, in a process of its own: it serves another session first, so that nothing
 * has to be loaded or compiled, and then wakes the session that was lived long. The model answers at once.
 */
import { join } from 'node:path'
import { Config, type EventType } from '@cairn/protocol'
import type { LogStore } from '@cairn/log'
import { addMessage, createSession } from '@cairn/sessions'
import { FOLD_VERSION } from '@cairn/state'
import { newId, openJobStore, owner, type WakeJob, type WakeReport } from './life-job.ts'
import { startHarness } from '../src/runner/runner.ts'
import { createModels } from '@cairn/models'
import { startScriptedServer } from '@cairn/scripted-model'

/** Resolves with the moment at which the log of the session has an event of that type after `after`. */
async function seen(store: LogStore, session_id: string, after: number, type: EventType): Promise<number> {
  const found = Promise.withResolvers<number>()
  const look = async (): Promise<void> => {
    if ((await store.events.read(session_id, after, 1, [type])).length > 0) found.resolve(performance.now())
  }
  const unwatch = store.events.watch(session_id, () => void look().catch(found.reject))
  await look()
  return found.promise.finally(unwatch)
}

async function measure({ session_id, turns, ...place }: WakeJob): Promise<WakeReport> {
  const { dir } = place
  const store = await openJobStore(place)
  const server = await startScriptedServer({ rules: [{ steps: [{ text: 'Done, as you said.' }] }] })
  const config = Config.parse({
    models: { default: 'demo/model', providers: { demo: { kind: 'scripted' } } },
    agents: { assistant: {} },
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
  async function turn(id: string): Promise<{ wake_ms: number; all_ms: number }> {
    const after = (await store.sessions.get(id))?.last_event_id ?? 0
    const sent = performance.now()
    const [woken, ended] = [seen(store, id, after, 'llm.request'), seen(store, id, after, 'session.complete')]
    await addMessage(deps, { session_id: id, content: 'hello', principal: owner })
    const times = { wake_ms: (await woken) - sent, all_ms: (await ended) - sent }
    await harness.idle()
    return times
  }
  const other = await createSession(deps, ['assistant'], { principal: owner, title: 'Other' })
  for (let n = 0; n < 10; n += 1) await turn(other.id)
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  const { wake_ms } = await turn(session_id)
  const more_mb = Math.max(0, process.resourceUsage().maxRSS * 1024 - before) / 2 ** 20
  const turns_ms: number[] = []
  for (let n = 0; n < turns; n += 1) turns_ms.push((await turn(session_id)).all_ms)
  const snapshot = (await store.snapshots.read(session_id, FOLD_VERSION))?.body.length ?? 0
  await harness.stop()
  await server.close()
  await store.close()
  return { wake_ms, more_mb, turns_ms, snapshot }
}

process.once('message', (job: WakeJob) => {
  measure(job).then(
    report => process.send?.(report, () => process.disconnect()),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
