/**
 * The program that runs the services and commands of one vitest process, so that the product is loaded once.
 * Each service has its own data directory, configuration and port; each command has its own input and output.
 * Requests and answers are IPC messages. The process ends with its parent.
 */
import { makeProcessPrivate } from '@cairn/workspace'
import { main } from '../src/cli/run.ts'
import { readServiceOptions } from '../src/cli/read-service-options.ts'
import { printable } from '../src/cli/terminal-text.ts'
import { startService } from '../src/main.ts'
import type { Service } from '../src/serve/service-options.ts'
import { createLogger, readLevel } from '../src/serve/logging.ts'

type Env = Readonly<Record<string, string>>
export type Request = { id: number } & (
  | { kind: 'start'; env: Env }
  | { kind: 'stop' }
  | { kind: 'run'; argv: string[]; env: Env; stdin: string }
  | { kind: 'interrupt' }
)
/** `id` is the id of the request that started the service or the command. */
export type Answer = { id: number } & (
  | { kind: 'started'; url: string; loginUrl: string; demo: boolean }
  | { kind: 'stdout' | 'stderr'; text: string }
  | { kind: 'ended'; code: number }
  | { kind: 'failed'; error: string }
)

makeProcessPrivate()
const services = new Map<number, Service>()
const interrupts = new Map<number, AbortController>()
const send = (answer: Answer): void => void process.send?.(answer)

async function start(id: number, env: Env): Promise<void> {
  const { config, ...options } = readServiceOptions(env)
  const service = await startService({
    ...options,
    // A test does not wait for turns that are still running when it ends.
    config: { ...config, limits: { ...config.limits, drain_s: 0 } },
    createLog: redact =>
      createLogger({
        level: readLevel(env['LOG_LEVEL']),
        pretty: false,
        redact,
        now: Date.now,
        write: text => send({ id, kind: 'stderr', text }),
      }),
  })
  services.set(id, service)
  const { url, loginUrl } = service
  send({ id, kind: 'started', url, loginUrl, demo: options.demo })
}

async function stop(id: number): Promise<void> {
  const service = services.get(id)
  services.delete(id)
  await service?.stop()
  send({ id, kind: 'ended', code: 0 })
}

async function run(id: number, argv: string[], env: Env, stdin: string): Promise<void> {
  const interrupt = new AbortController()
  interrupts.set(id, interrupt)
  const code = await main(argv, {
    env,
    out: text => send({ id, kind: 'stdout', text }),
    flushed: () => Promise.resolve(),
    note: line => send({ id, kind: 'stderr', text: `${printable(line)}\n` }),
    readStdin: () => Promise.resolve(stdin),
    stdinIsTty: false,
    stdoutIsTty: false,
    terminal: () => {
      throw new Error(`cairn ${argv.join(' ')} needs a terminal; run it in its own process.`)
    },
    signal: interrupt.signal,
  })
  interrupts.delete(id)
  send({ id, kind: 'ended', code })
}

async function handle(request: Request): Promise<void> {
  if (request.kind === 'start') return start(request.id, request.env)
  if (request.kind === 'stop') return stop(request.id)
  if (request.kind === 'run') return run(request.id, request.argv, request.env, request.stdin)
  interrupts.get(request.id)?.abort(new Error('interrupted'))
}

process.on('message', (request: Request) => {
  handle(request).catch((error: unknown) =>
    send({
      id: request.id,
      kind: 'failed',
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  )
})
process.on('disconnect', () => process.exit())
