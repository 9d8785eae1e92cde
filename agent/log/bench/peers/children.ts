/** Processes that a comparison starts and must not leave behind. */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, connect, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Job, Measured } from './load.ts'

const PATIENCE_MS = 20_000

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

/** First line that the program prints about its version; null when it is not there. */
export function versionOf(program: string, ...args: readonly string[]): string | null {
  try {
    // nginx says it on standard error.
    return (
      execFileSync('sh', ['-c', `exec "$0" "$@" 2>&1`, program, ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).split('\n')[0] ?? ''
    )
  } catch {
    // Not installed: whoever asks says so in the report.
    return null
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

/** Starts a server and waits until it takes connections. */
export async function startServer(
  program: string,
  args: readonly string[],
  port: number,
): Promise<{ pid: number; stop(): Promise<void> }> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (data: Buffer) => {
    said = (said + data.toString()).slice(-2000)
  })
  for (const deadline = Date.now() + PATIENCE_MS; !(await answers(port)); await delay(20)) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`[bench] ${program} did not come up:\n${said}`)
    }
  }
  return { pid: child.pid ?? 0, stop: () => end(child, 'SIGTERM') }
}

/** Starts one of our own scripts, which sends one message when it is ready. */
export async function startScript<T>(
  script: URL,
  argument: unknown,
): Promise<{ ready: T; pid: number; stop(): Promise<void> }> {
  const child = fork(fileURLToPath(script), [JSON.stringify(argument)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`[bench] ${script.pathname} ended with ${String(code)} before it was ready`)
  })
  const [ready] = await Promise.race([once(child, 'message') as Promise<[T]>, gone])
  gone.catch(() => undefined) // Later it is meant to end.
  return { ready, pid: child.pid ?? 0, stop: () => end(child, 'SIGTERM') }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000)
  await ended
  clearTimeout(timer)
}

/** Longer than this no measurement takes that tells anything. */
const TOO_LONG_MS = 90_000

/** Null when it took too long: the report then has no figure. */
export async function measure(job: Job): Promise<Measured | null> {
  const child = fork(fileURLToPath(new URL('load.ts', import.meta.url)), [JSON.stringify(job)])
  const timer = setTimeout(() => child.kill('SIGKILL'), TOO_LONG_MS)
  let measured: Measured | null = null
  child.once('message', message => {
    measured = message as Measured
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  clearTimeout(timer)
  if (code !== 0 && code !== null)
    throw new Error(`[bench] the load generator failed on ${job.spec.kind}; it has said why`)
  return measured
}
