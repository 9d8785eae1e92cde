/**
 * The processes of a chaos run on one database: three that answer requests and three that run turns. Each is
 * restarted when it dies, and can be replaced by another program.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@cairn/log/test/free-port'

/** A command and its first arguments. */
export type Program = readonly [command: string, ...args: string[]]

/** The sources of this tree. */
export const OWN_PROGRAM: Program = [
  process.execPath,
  fileURLToPath(new URL('../../agent/app/src/cli/main.ts', import.meta.url)),
]
export const ROLES = ['api', 'api', 'api', 'worker', 'worker', 'worker'] as const
const START_MS = 120_000

export type Fleet = {
  /** URLs of the processes that answer requests. They stay the same across restarts. */
  urls: readonly string[]
  /** Ids of the running processes of a role. */
  pids(role: (typeof ROLES)[number]): number[]
  kills: { api: number; worker: number }
  /** Unexpected process exits. */
  surprises: string[]
  /** Sends SIGKILL to one process. Resolves when it is restarted, which is before it answers. */
  killOne(random: () => number): Promise<void>
  /** Drains process number `at` of ROLES and starts this program in its place. Resolves when that is ready. */
  replace(at: number, program: Program): Promise<void>
  /** Sends SIGTERM to all processes. Resolves with the exit codes. */
  stop(): Promise<(number | null)[]>
}
type Slot = { program: Program; child: ChildProcess | null; isLeaving: boolean }
type Options = {
  program?: Program
  /** Whether processes may fail to start now, because their database is down. */
  isOutage?: () => boolean
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

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null

/** `env` is common to all processes. Their logs are files in `dir`. */
export async function startFleet(
  dir: string,
  env: Record<string, string>,
  { program = OWN_PROGRAM, isOutage = () => false }: Options = {},
): Promise<Fleet> {
  mkdirSync(join(dir, 'logs'))
  const ports = await Promise.all(ROLES.map(freePort))
  const urls = ports.map(port => `http://127.0.0.1:${port}`)
  const slots: Slot[] = ROLES.map(() => ({ program, child: null, isLeaving: false }))
  const kills = { api: 0, worker: 0 }
  const surprises: string[] = []
  let stopping = false

  const slotAt = (at: number): Slot => {
    const slot = slots[at]
    if (slot === undefined) throw new Error(`[fleet] there is no process ${at}`)
    return slot
  }

  function start(at: number): void {
    const role = ROLES[at] ?? 'worker'
    const slot = slotAt(at)
    const [command, ...args] = slot.program
    const child = spawn(command, [...args, 'serve', '--json', '--role', role], {
      cwd: dir,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', HOME: dir, HOST: '127.0.0.1', PORT: String(ports[at]), ...env },
    })
    child.stderr?.pipe(createWriteStream(join(dir, 'logs', `${role}-${at}.log`), { flags: 'a' }))
    child.once('exit', (code, signal) => {
      if (stopping || slot.isLeaving) return
      if (signal !== 'SIGKILL' && !isOutage())
        surprises.push(
          `${role} ${at} ended by itself with ${code === null ? String(signal) : `code ${code}`}`,
        )
      start(at)
    })
    slot.child = child
  }
  // The children end when this process exits.
  process.once('exit', () => {
    for (const { child } of slots) child?.kill('SIGKILL')
  })
  for (const at of ROLES.keys()) start(at)
  await Promise.all(urls.map(untilReady))

  return {
    urls: urls.filter((_, at) => ROLES[at] === 'api'),
    pids: role => slots.flatMap(({ child }, at) => (ROLES[at] === role ? (child?.pid ?? []) : [])),
    kills,
    surprises,
    async killOne(random) {
      const at = Math.floor(random() * ROLES.length)
      const { child } = slotAt(at)
      if (child === null || !isRunning(child)) return
      kills[ROLES[at] ?? 'worker'] += 1
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
    async replace(at, next) {
      const slot = slotAt(at)
      const { child } = slot
      slot.isLeaving = true
      if (child !== null && isRunning(child)) {
        child.kill('SIGTERM')
        const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
        // A process that is still starting has no SIGTERM handler yet.
        if (code !== 0 && signal === null && !isOutage())
          surprises.push(`${ROLES[at]} ${at} drained with code ${code}`)
      }
      slot.program = next
      slot.isLeaving = false
      start(at)
      await untilReady(urls[at] ?? '')
    },
    async stop() {
      // A process that is still starting has no SIGTERM handler yet.
      await Promise.all(urls.map(untilReady))
      stopping = true
      return Promise.all(
        slots.map(async ({ child }) => {
          if (child === null || !isRunning(child)) return child?.exitCode ?? null
          child.kill('SIGTERM')
          const [code] = (await once(child, 'exit')) as [number | null]
          return code
        }),
      )
    },
  }
}
