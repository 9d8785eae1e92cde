/** Startup times of `cairn acp`: until the answer to `initialize`, and until the first session. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import type { Reading } from './table.ts'

const BIN = fileURLToPath(new URL('../../bin/cairn.mjs', import.meta.url))
/** The first process may read files that are not cached yet; the median excludes it. */
const PROCESSES = 7

export async function benchAcp(parent: string = tmpdir()): Promise<Reading[]> {
  const initialize: number[] = []
  const session: number[] = []
  for (let process = 0; process < PROCESSES; process++) {
    const [greeted, opened] = await once(mkdtempSync(join(parent, 'cairn-bench-')))
    initialize.push(greeted)
    session.push(opened)
  }
  const median = (values: readonly number[]): number =>
    Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0)
  return [
    { name: 'process started → initialize answered, p50', value: median(initialize), unit: 'ms' },
    { name: 'initialize answered → session/new answered, p50', value: median(session), unit: 'ms' },
  ]
}

async function once(dir: string): Promise<[initialize: number, session: number]> {
  const cwd = join(dir, 'project')
  mkdirSync(cwd)
  const began = performance.now()
  const child = spawn(process.execPath, [BIN, 'acp'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: dir, CAIRN_DATA: join(dir, 'data'), LOG_LEVEL: 'error' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  try {
    return await client({ name: 'bench' }).connectWith(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      ),
      async agent => {
        await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
        const greeted = performance.now()
        await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
        return [greeted - began, performance.now() - greeted]
      },
    )
  } finally {
    child.stdin.end()
    await ended
    rmSync(dir, { recursive: true, force: true })
  }
}
