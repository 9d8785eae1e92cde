/**
 * What a user does with an artifact: installs it in an empty folder without a compiler, starts it and sends a
 * message.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../workspace.ts'

/** Why a check cannot run on this machine. */
export class NotRun extends Error {}

export function requireTool(name: string): void {
  if (spawnSync(name, ['--version'], { stdio: 'ignore' }).error !== undefined)
    throw new NotRun(`${name} is not installed`)
}

/** A command that takes longer hangs. */
const TIMEOUT_MS = 600_000
const PINNED = '24'

const REGISTRY = /^npm_config_(?:registry|cafile|cache|proxy|https_proxy|noproxy)$/i

/** npm reaches its registry with the settings of this machine. Nothing else gets these variables. */
const ofNpm = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || REGISTRY.test(name))

/** The variables by which npm reaches its registry, for an environment that has no others of this machine. */
export const npmVariables = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined &&
      (REGISTRY.test(name) || /^(?:NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)$/i.test(name))
        ? [[name, value]]
        : [],
    ),
  )

function npmScript(name: 'npm' | 'npx'): string {
  const globals = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
  return realpathSync(join(globals, `npm/bin/${name}-cli.js`))
}

/** A Node of this major version, the pinned one or one that npm installs into `work`. */
function nodeOf(version: string, work: string): string {
  const binary = `node-linux-${process.arch}`
  if (version === PINNED) return join(root, 'node_modules', binary, 'bin/node')
  const folder = join(work, `node-${version}`)
  mkdirSync(folder, { recursive: true })
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `${binary}@${version}`]
  const { status } = spawnSync('npm', args, { cwd: folder, timeout: TIMEOUT_MS, stdio: 'ignore' })
  const path = join(folder, 'node_modules', binary, 'bin/node')
  if (status !== 0 || !existsSync(path)) throw new NotRun(`npm could not install ${binary}@${version}`)
  return path
}

export type User = { folder: string; env: Record<string, string> }

/** An empty folder, and a PATH with nothing but Node, npm and a shell. */
export function createUser(version: string, work: string): User {
  const top = mkdtempSync(join(work, 'user-'))
  const [bin, folder] = [join(top, 'bin'), join(top, 'empty')]
  mkdirSync(bin)
  mkdirSync(folder)
  symlinkSync(nodeOf(version, work), join(bin, 'node'))
  for (const name of ['npm', 'npx'] as const) symlinkSync(npmScript(name), join(bin, name))
  for (const name of ['sh', 'env']) symlinkSync(`/usr/bin/${name}`, join(bin, name))
  return { folder, env: { PATH: bin, HOME: top } }
}

export function install({ folder, env }: User, files: readonly string[]): void {
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...files], {
    cwd: folder,
    env: { ...Object.fromEntries(ofNpm), PATH: env['PATH'] ?? '' },
    timeout: TIMEOUT_MS,
    stdio: 'pipe',
  })
}

/** Runs a command to its end and returns its stdout. */
export const runAs = ({ folder, env }: User, command: readonly [string, ...string[]]): string =>
  execFileSync(command[0], command.slice(1), {
    cwd: folder,
    env,
    timeout: TIMEOUT_MS,
    encoding: 'utf8',
    stdio: 'pipe',
    maxBuffer: 64 * 2 ** 20,
  })

export const MESSAGE = 'Hello'

/** Throws unless the text has the answer of the demo model to the message. */
export function checkAnswer(text: string): void {
  if (!text.includes(`You wrote "${MESSAGE}".`)) throw new Error(`unexpected answer: ${text}`)
}

/** Starts the service, sends a message and stops the service, which must end by itself. */
export async function answerMessage(user: User, cairn: readonly [string, ...string[]]): Promise<void> {
  const { folder, env } = user
  // A group of its own, because npx starts the service as a child.
  const child = spawn(cairn[0], [...cairn.slice(1), 'serve', '--json'], {
    cwd: folder,
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  const ended = once(child, 'exit')
  try {
    const lines = createInterface(child.stdout)
    const [line] = (await once(lines, 'line', { signal: AbortSignal.timeout(TIMEOUT_MS) })) as [string]
    const { url } = JSON.parse(line) as { url: string }
    checkAnswer(runAs(user, [...cairn, 'send', '--url', url, MESSAGE]))
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
}

/** The time since `from` and the load of the machine. Throws if it is too long on a quiet machine. */
export const withinSeconds = (from: number, max: number): string =>
  limitSeconds((performance.now() - from) / 1000, max)

export function limitSeconds(seconds: number, max: number): string {
  const load = loadavg()[0] ?? 0
  const text = `${seconds.toFixed(1)} s of at most ${max} s, load ${load.toFixed(1)}`
  if (seconds > max && load < availableParallelism()) throw new Error(`too slow: ${text}`)
  return seconds > max ? `${text}; repeat it on a quiet machine` : text
}
