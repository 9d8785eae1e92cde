/**
 * The processes of a chaos run on one database: three that answer requests and three that run turns. Each is
 * restarted when it dies.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@cairn/log/test/free-port'

const MAIN = fileURLToPath(new URL('../../agent/app/src/cli/main.ts', import.meta.url))
const ROLES = ['api', 'api', 'api', 'worker', 'worker', 'worker'] as const
const START_MS = 60_000

export type Fleet = {
  /** URLs of the processes that answer requests. They stay the same across restarts. */
  urls: readonly string[]
  kills: { api: number; worker: number }
  /** Unexpected process exits. */
  surprises: string[]
  /** Sends SIGKILL to one process. Resolves when it is restarted, which is before it answers. */
  killOne(random: () => number): Promise<void>
  /** Sends SIGTERM to all processes. Resolves with the exit codes. */
  stop(): Promise<(number | null)[]>
}

async function untilReady(url: string): Promise<void> {
  for (const deadline = Date.now() + START_MS; ; await delay(100)) {
    const ready = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready) return
    if (Date.now() > deadline) throw new Error(`${url} is not ready after ${START_MS / 1000} s`)
  }
}

/** `env` is common to all processes. Their logs are files in `dir`. */
export async function startFleet(dir: string, env: Record<string, string>): Promise<Fleet> {
  mkdirSync(join(dir, 'logs'))
  const ports = await Promise.all(ROLES.map(freePort))
  const children = new Map<number, ChildProcess>()
  const kills = { api: 0, worker: 0 }
  const surprises: string[] = []
  let stopping = false

  function start(at: number): void {
    const role = ROLES[at] ?? 'worker'
    const child = spawn(process.execPath, [MAIN, 'serve', '--json', '--role', role], {
      cwd: dir,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', HOME: dir, HOST: '127.0.0.1', PORT: String(ports[at]), ...env },
    })
    child.stderr?.pipe(createWriteStream(join(dir, 'logs', `${role}-${at}.log`), { flags: 'a' }))
    child.once('exit', (code, signal) => {
      if (stopping || signal === 'SIGKILL') return
      surprises.push(`${role} ${at} ended by itself with ${code === null ? String(signal) : `code ${code}`}`)
      start(at)
    })
    children.set(at, child)
  }
  // The children end when this process exits.
  process.once('exit', () => {
    for (const child of children.values()) child.kill('SIGKILL')
  })
  for (const at of ROLES.keys()) start(at)
  const urls = ports.map(port => `http://127.0.0.1:${port}`)
  await Promise.all(urls.map(untilReady))

  return {
    urls: urls.filter((_, at) => ROLES[at] === 'api'),
    kills,
    surprises,
    async killOne(random) {
      const at = Math.floor(random() * ROLES.length)
      const child = children.get(at)
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      kills[ROLES[at] ?? 'worker'] += 1
      child.kill('SIGKILL')
      await once(child, 'exit')
      start(at)
    },
    async stop() {
      // A process that is still starting has no SIGTERM handler yet.
      await Promise.all(urls.map(untilReady))
      stopping = true
      return Promise.all(
        [...children.values()].map(async child => {
          if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
          child.kill('SIGTERM')
          const [code] = (await once(child, 'exit')) as [number | null]
          return code
        }),
      )
    },
  }
}
