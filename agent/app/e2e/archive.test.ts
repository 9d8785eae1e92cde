/** Archiving a session keeps its events and removes its workspace from disk. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cairn, makePlace, startServer } from './server.ts'
import { newSession, PATIENCE_MS, readLog, runTurn } from './session.ts'

const scenario = {
  rules: [
    {
      steps: [
        { tool_calls: [{ name: 'write_file', arguments: { path: 'notes.md', content: 'kept' } }] },
        { text: 'Written.' },
      ],
    },
  ],
}

/**
 * Promise 6.6: A real server removes an archived session's folder and keeps its events, also across restarts.
 */
test(
  'removes the folder of an archived session and keeps its events, also across a restart',
  { timeout: 4 * PATIENCE_MS },
  async () => {
    const place = makePlace({ scenario, config: { limits: { archive_grace_s: 0.5 } } })
    let server = await startServer(place)
    const [gone, kept] = [await newSession(server.client), await newSession(server.client)]
    for (const id of [gone, kept]) await runTurn(server.client, id, 'write it down')
    const folder = (id: string): string => join(place.workspaces, id)
    const checkpoints = (): boolean =>
      readdirSync(place.dataDir, { recursive: true }).some(path => String(path).endsWith(gone))
    expect(readFileSync(join(folder(gone), 'notes.md'), 'utf8')).toBe('kept')
    expect(checkpoints()).toBe(true)

    await server.client.call('archiveSession', { params: { id: gone } })
    const events = await readLog(server.client, gone)
    expect(existsSync(folder(gone))).toBe(true)
    await server.kill()
    server = await startServer(place)
    expect(await readLog(server.client, gone)).toEqual(events)

    // One sweep finds the archived session. The next one after the grace period removes its folder.
    await expect.poll(() => existsSync(folder(gone)), { timeout: PATIENCE_MS }).toBe(false)
    await expect.poll(checkpoints, { timeout: PATIENCE_MS }).toBe(false)
    expect(await readLog(server.client, gone)).toEqual(events)
    expect(readFileSync(join(folder(kept), 'notes.md'), 'utf8')).toBe('kept')

    await server.stop()
    server = await startServer(place)
    expect(await readLog(server.client, gone)).toEqual(events)
    expect(existsSync(folder(gone))).toBe(false)
    expect(readFileSync(join(folder(kept), 'notes.md'), 'utf8')).toBe('kept')
    expect((await server.client.call('getSession', { params: { id: gone } })).status).toBe('archived')

    // After it is restored, the session is idle, has its events, and continues with the next message.
    const back = await server.client.call('restoreSession', { params: { id: gone } })
    expect([back.status, back.state, back.last_event_id]).toEqual(['active', 'idle', events.at(-1)!.id + 1])
    await expect(server.client.call('restoreSession', { params: { id: gone } })).rejects.toMatchObject({
      code: 'wrong_state',
    })
    await runTurn(server.client, gone, 'write it down')
    expect(readFileSync(join(folder(gone), 'notes.md'), 'utf8')).toBe('kept')
    await server.stop()
    expect((await cairn(place, ['doctor'])).code).toBe(0)
  },
)
