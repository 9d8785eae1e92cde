/**
 * Latency for a person: from sending a message to reading the first events of its turn, through the whole
 * service with a model that answers immediately.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@cairn/client'
import { Config, type EventType } from '@cairn/protocol'
import { localToken } from '../local/local-admin.ts'
import { startService } from '../main.ts'
import { createLogger } from '../serve/logging.ts'
import type { Reading } from './table.ts'

const TURNS = 60
const WARM_UP = 10
const MILESTONES = [
  'user.message',
  'harness.wake',
  'llm.delta',
  'session.complete',
] as const satisfies readonly EventType[]

/** Sequential turns in one session, read by one stream that stays open. */
export async function benchFirstEvent(parent: string = tmpdir()): Promise<Reading[]> {
  const dir = mkdtempSync(join(parent, 'cairn-bench-'))
  const stop = new AbortController()
  // The demo scenario matches any message; it streams at reading pace, so the last milestone includes the
  // model's own time.
  const config = Config.parse({
    models: { default: 'demo/scripted', providers: { demo: { kind: 'scripted' } } },
  })
  const service = await startService({
    config,
    demo: true,
    env: {},
    database: null,
    role: 'all',
    dataDir: join(dir, 'data'),
    workspacesDir: join(dir, 'workspaces'),
    configDir: dir,
    host: '127.0.0.1',
    port: 0,
    createLog: redact =>
      createLogger({
        level: 'warn',
        pretty: false,
        redact,
        now: Date.now,
        write: line => void process.stderr.write(line),
      }),
  })
  try {
    const client = createClient({ baseUrl: service.url, token: () => localToken(join(dir, 'data')) })
    const { id } = await client.call('createSession', { body: {} })
    const times = new Map<string, number[]>(['acknowledged', ...MILESTONES].map(name => [name, []]))
    const events = client.events(id, { signal: stop.signal })
    for (let turn = 0; turn < TURNS; turn++) {
      const sentAt = performance.now()
      const seen = new Set<string>()
      const note = (name: string): void => {
        if (seen.has(name)) return
        seen.add(name)
        if (turn >= WARM_UP) times.get(name)?.push(performance.now() - sentAt)
      }
      const sent = client
        .call('sendMessage', { params: { id }, body: { content: 'hello' } })
        .then(() => note('acknowledged'))
      for (let ended = false; !ended;) {
        const { value: batch } = await events.next()
        if (batch === undefined) throw new Error('[bench] the stream ended')
        for (const event of batch) note(event.type)
        ended = batch.some(({ type }) => type === 'session.complete')
      }
      await sent
    }
    return [...times].flatMap(([name, values]) => {
      const sorted = values.toSorted((a, b) => a - b)
      const at = (q: number): number =>
        Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0).toPrecision(3))
      return [
        { name: `message → ${name}, p50`, value: at(0.5), unit: 'ms' },
        { name: `message → ${name}, p99`, value: at(0.99), unit: 'ms' },
      ]
    })
  } finally {
    stop.abort()
    await service.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}
