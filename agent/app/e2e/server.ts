/**
 * The real service on a free port, with a data directory that is removed after the test. `startService` runs
 * it in the process that the tests of a vitest process share. `startServer` starts a separate process, for
 * tests that kill it, signal it, or inspect it.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type CairnClient, createClient } from '@cairn/client'
import { stringify } from 'yaml'
import { onTestFinished } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { COMPILE_CACHE, type Finished, runShared, startShared } from './shared.ts'

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))

/** The environment of one test: its data directory and its configuration. */
export type ServerDirs = { dir: string; dataDir: string; workspaces: string; env: Record<string, string> }

/** `scenario` scripts the model; `config` is the rest of cairn.yaml. Without both, the demo runs. */
export function makePlace(options: { scenario?: object; config?: object } = {}): ServerDirs {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-e2e-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }))
  const { scenario, config } = options
  const env: Record<string, string> = {
    CAIRN_DATA: join(dir, 'data'),
    CAIRN_CONFIG: join(dir, 'cairn.yaml'),
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
  }
  if (scenario) writeFileSync(join(dir, 'scenario.yaml'), stringify(scenario))
  const models = {
    default: 'test/scripted',
    providers: { test: { kind: 'scripted', scenario: './scenario.yaml' } },
  }
  writeFileSync(join(dir, 'cairn.yaml'), stringify({ ...(scenario ? { models } : {}), ...config }))
  return { dir, dataDir: join(dir, 'data'), workspaces: join(dir, 'workspaces'), env }
}

export type RunningService = {
  url: string
  loginUrl: string
  demo: boolean
  client: CairnClient
  /** All log output so far. */
  log: () => string
  /** Drains the server and resolves with the exit code. */
  stop: () => Promise<number | null>
}

export type Server = RunningService & {
  pid: number
  /** Kills the process at once, like a power failure. */
  kill: () => Promise<void>
  exited: () => boolean
}

const envOf = (place: ServerDirs): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: place.dir,
  ...place.env,
})

const clientOf = (place: ServerDirs, url: string): CairnClient =>
  createClient({
    baseUrl: url,
    token: () => localToken(place.dataDir),
    backoff: { baseMs: 50, maxMs: 500 },
  })

/** One command-line process. `kill` ends it at once and waits until it has exited. */
export function start(
  place: ServerDirs,
  args: readonly string[],
  stdio: StdioOptions = ['pipe', 'pipe', 'pipe'],
): { child: ChildProcess; stderr: () => string; kill: () => Promise<void> } {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: place.dir,
    env: { ...envOf(place), NODE_COMPILE_CACHE: COMPILE_CACHE },
    stdio,
  })
  const exit = once(child, 'exit')
  let text = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exit
  }
  return { child, stderr: () => text, kill }
}

/** `args` are those of `cairn serve`. */
export async function startServer(place: ServerDirs, args: readonly string[] = []): Promise<Server> {
  const { child, stderr } = start(place, ['serve', '--json', ...args])
  const exit = once(child, 'exit')
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    const [code] = (await exit) as [number | null]
    return code
  }
  onTestFinished(async () => void (await kill('SIGKILL')))
  const line = await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line').then(([text]) => text as string),
    exit.then(([code]) =>
      Promise.reject(
        new Error(`the server ended with code ${String(code)} before it listened:\n${stderr()}`),
      ),
    ),
  ])
  const { url, login_url, demo } = JSON.parse(line) as { url: string; login_url: string; demo: boolean }
  return {
    url,
    pid: child.pid!,
    loginUrl: login_url,
    demo,
    log: stderr,
    exited: () => child.exitCode !== null || child.signalCode !== null,
    client: clientOf(place, url),
    kill: async () => void (await kill('SIGKILL')),
    stop: () => kill('SIGTERM'),
  }
}

/** Starts the service in the shared process. After the test, running turns end at once. */
export async function startService(place: ServerDirs): Promise<RunningService> {
  const service = await startShared(envOf(place))
  onTestFinished(async () => void (await service.stop()))
  return { ...service, client: clientOf(place, service.url) }
}

/**
 * Runs one command to its end. With `until`, it is interrupted once its output matches. It runs in the shared
 * process, except `cairn serve`, which waits for signals.
 */
export function cairn(
  place: ServerDirs,
  args: readonly string[],
  options: { env?: Record<string, string>; stdin?: string; until?: (stdout: string) => boolean } = {},
): Promise<Finished> {
  if (args[0] === 'serve') return cairnProcess(place, args, options)
  const { stdin = '', until } = options
  return runShared(args, { env: { ...envOf(place), ...options.env }, stdin, until })
}

/** Runs `cairn serve` with a configuration that it rejects before it waits for signals or opens a file. */
export const refusedStart = (place: ServerDirs, env: Record<string, string> = {}): Promise<Finished> =>
  runShared(['serve'], { env: { ...envOf(place), ...env }, stdin: '', until: undefined })

/** The same in a separate process. */
export async function cairnProcess(
  place: ServerDirs,
  args: readonly string[],
  options: Parameters<typeof cairn>[2] = {},
): Promise<Finished> {
  const { child, stderr } = start({ ...place, env: { ...place.env, ...options.env } }, args)
  let stdout = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    if (options.until?.(stdout)) child.kill('SIGINT')
  })
  child.stdin?.end(options.stdin ?? '')
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr: stderr() }
}
