/** The executables: two builds are equal, the first start is safe, and a message gets its answer. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import { PLATFORMS, type Platform } from '../names.ts'
import { VERSION } from '../version.ts'
import { answerMessage, NotRun, requireTool, withinSeconds } from './as-user.ts'
import { type CheckFolders, type Checks, hashOf, megabytes, orNotRun, requireBuilt } from './checks.ts'
import { arm64Emulator } from './emulator.ts'
import { buildExecutable, executableName } from './executable.ts'
import { OWN_PLATFORM, toolFor } from './platform-node.ts'

/** Seconds from the first start to the first answer. */
const FIRST_ANSWER_MAX_S = 10

type Command = readonly [string, ...string[]]

export function executableChecks({ work, out }: CheckFolders): Checks {
  const fileOf = (platform: Platform): string => join(out, 'executable', executableName(platform))
  const builds = PLATFORMS.map(platform => [
    `executable for ${platform}`,
    () => buildTwice(platform, fileOf(platform), { work, out }),
  ])
  return {
    ...Object.fromEntries(builds),
    async 'first answer of the executable'() {
      const home = emptyHome(work)
      const from = performance.now()
      await answerMessage({ folder: home, env: { HOME: home } }, commandFor(OWN_PLATFORM, fileOf))
      return withinSeconds(from, FIRST_ANSWER_MAX_S)
    },
    'first starts of the executable': () => tryFirstStarts(commandFor(OWN_PLATFORM, fileOf), work),
    async 'executable for linux-arm64 under emulation'() {
      const command = commandFor('linux-arm64', fileOf)
      const home = emptyHome(work)
      const env = { HOME: home, PATH: process.env['PATH'] ?? '' }
      const [program, ...args] = [...command, '--version'] as const
      const version = execFileSync(program, args, { cwd: home, env, encoding: 'utf8' }).trim()
      if (version !== VERSION) throw new Error(`--version printed ${version}`)
      const from = performance.now()
      await answerMessage({ folder: home, env }, command)
      const seconds = ((performance.now() - from) / 1000).toFixed(1)
      return `--version printed ${version}; answered a message after ${seconds} s`
    },
  }
}

async function buildTwice(platform: Platform, file: string, { work, out }: CheckFolders): Promise<string> {
  requireTool(toolFor(platform, 'strip'))
  const kernels = join(out, 'kernels', platform)
  const second = join(work, 'second-executable')
  for (const [target, folder] of [
    [file, join(out, 'executable/build')],
    [second, join(work, 'second-build')],
  ] as const)
    await buildExecutable({ platform, file: target, work: folder, kernels, cache: join(out, 'cache') })
  const [first, again] = [hashOf(file), hashOf(second)]
  rmSync(second)
  if (first !== again) throw new Error(`two builds differ: ${first} and ${again}`)
  return `${megabytes(statSync(file).size)}, two builds have the same bytes`
}

/** The start of a command line that runs the executable of a platform on this machine. */
function commandFor(platform: Platform, fileOf: (platform: Platform) => string): Command {
  const file = fileOf(platform)
  requireBuilt(file)
  if (platform === OWN_PLATFORM) return [file]
  if (platform !== 'linux-arm64') throw new NotRun(`this machine cannot run programs for ${platform}`)
  return [...orNotRun(arm64Emulator), file]
}

const emptyHome = (work: string): string => mkdtempSync(join(work, 'home-'))

/** Two processes unpack at the same time; one is killed while it unpacks. */
async function tryFirstStarts([command, ...args]: Command, work: string): Promise<string> {
  const start = (home: string) => {
    const child = spawn(command, [...args, '--version'], {
      cwd: home,
      env: { HOME: home },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const text: Promise<string> = child.stdout
      .setEncoding('utf8')
      .reduce((all, part: string) => all + part, '')
    return { child, text, ended: once(child, 'exit') }
  }
  const printVersion = async (home: string): Promise<void> => {
    const printed = (await start(home).text).trim()
    if (printed !== VERSION) throw new Error(`--version printed "${printed}"`)
  }
  const together = emptyHome(work)
  await Promise.all([printVersion(together), printVersion(together)])
  const folders = unpackedFolders(together)
  if (folders.length !== 1) throw new Error(`two processes left ${folders.join(', ')}`)

  const home = emptyHome(work)
  const cache = join(home, '.cache/cairn')
  mkdirSync(cache, { recursive: true })
  const { child, ended } = start(home)
  const watcher = watch(cache)
  watcher.once('change', () => child.kill('SIGKILL'))
  await ended
  watcher.close()
  const left = unpackedFolders(home)
  if (left.length !== 1 || !left[0]?.includes('.unpacking-'))
    throw new Error(`a process that was killed while it unpacked left ${left.join(', ')}`)
  await printVersion(home)
  const [folder] = folders
  if (unpackedFolders(home).join() !== folder)
    throw new Error(`the start after it left ${unpackedFolders(home).join(', ')}`)
  return 'two at once leave one folder; after a kill -9 while it unpacks, the next start leaves one too'
}

const unpackedFolders = (home: string): string[] =>
  readdirSync(join(home, '.cache/cairn')).filter(name => name !== 'compiled')
