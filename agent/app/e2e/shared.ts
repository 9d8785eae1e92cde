/**
 * Services and commands in the process that the tests of this vitest process share (shared-process.ts). It
 * starts with the first of them and ends with the vitest process.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Answer, Request } from './shared-process.ts'

const PROGRAM = fileURLToPath(new URL('shared-process.ts', import.meta.url))
/** A cache of compiled modules, kept between runs, so that processes start faster. */
export const COMPILE_CACHE = join(tmpdir(), 'cairn-compile-cache')

type Env = Readonly<Record<string, string>>
type Receive = (answer: Answer) => void
type SharedProcess = { child: ChildProcess; receivers: Map<number, Receive> }

let shared: SharedProcess | null = null
let lastId = 0

function sharedProcess(): SharedProcess {
  if (shared !== null) return shared
  const child = fork(PROGRAM, {
    env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: COMPILE_CACHE },
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const receivers = new Map<number, Receive>()
  child.on('message', (answer: Answer) => receivers.get(answer.id)?.(answer))
  child.on('exit', (code, signal) => {
    shared = null
    const error = `the shared process ended (code ${code}, signal ${signal})`
    for (const [id, receive] of receivers) receive({ id, kind: 'failed', error })
  })
  // Neither the process nor its channel keeps the vitest process alive.
  child.unref()
  child.channel?.unref()
  return (shared = { child, receivers })
}

const send = (host: SharedProcess, request: Request): void => void host.child.send(request)

export type SharedService = {
  url: string
  loginUrl: string
  demo: boolean
  /** All log output so far. */
  log: () => string
  stop: () => Promise<number>
}

export async function startShared(env: Env): Promise<SharedService> {
  const host = sharedProcess()
  const id = (lastId += 1)
  let log = ''
  const started = Promise.withResolvers<Answer & { kind: 'started' }>()
  const ended = Promise.withResolvers<number>()
  host.receivers.set(id, answer => {
    if (answer.kind === 'started') started.resolve(answer)
    else if (answer.kind === 'failed') {
      started.reject(new Error(answer.error))
      ended.reject(new Error(answer.error))
    } else if (answer.kind === 'ended') ended.resolve(answer.code)
    else log += answer.text
  })
  // The caller that starts the service gets a failure first. `stop` reports it again.
  ended.promise.catch(() => {})
  send(host, { id, kind: 'start', env })
  const { url, loginUrl, demo } = await started.promise
  let stopping = false
  return {
    url,
    loginUrl,
    demo,
    log: () => log,
    stop() {
      if (!stopping) send(host, { id, kind: 'stop' })
      stopping = true
      return ended.promise
    },
  }
}

export type Finished = { code: number | null; stdout: string; stderr: string }

/** Runs one command to its end. With `until`, it is interrupted once its output matches. */
export async function runShared(
  argv: readonly string[],
  { env, stdin, until }: { env: Env; stdin: string; until?: ((stdout: string) => boolean) | undefined },
): Promise<Finished> {
  const host = sharedProcess()
  const id = (lastId += 1)
  const output = { stdout: '', stderr: '' }
  const ended = Promise.withResolvers<number>()
  host.receivers.set(id, answer => {
    if (answer.kind === 'ended') return ended.resolve(answer.code)
    if (answer.kind === 'failed') return ended.reject(new Error(answer.error))
    if (answer.kind === 'started') return
    output[answer.kind] += answer.text
    if (answer.kind === 'stdout' && until?.(output.stdout)) send(host, { id, kind: 'interrupt' })
  })
  send(host, { id, kind: 'run', argv: [...argv], env, stdin })
  try {
    return { code: await ended.promise, ...output }
  } finally {
    host.receivers.delete(id)
  }
}
