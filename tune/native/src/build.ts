/**
 * Builds the addon with the system's compiler: each source once, kernels once an instruction set, then one
 * link.
 *
 * The result lies in the user's cache under a hash of sources, compiler and flags, so nothing is ever stale
 * and nothing is written twice. It is written under a temporary name and renamed, so a reader never sees half
 * a file; a lock makes the second of two builders wait for the first. Old results are removed when a new one
 * is made.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compilerCandidates, findCompiler, type Compiler } from './compiler.ts'
import { isasOf, type Isa } from './isas.ts'
import { markUsed, pruneBuilds } from './prune-builds.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const lockPollMs = 100

const warnings = ['-Wall', '-Wextra', '-Wno-unused-function', '-Wno-psabi']
// No contraction: where a kernel wants a fused multiply-add it says so, and elsewhere every machine rounds
// alike.
const compileFlags = [
  '-std=c++20',
  '-O3',
  '-fPIC',
  '-fvisibility=hidden',
  '-ffp-contract=off',
  '-fno-math-errno',
  '-fno-trapping-math',
  '-pthread',
  ...warnings,
]
const linkFlags = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : ['-pthread']

type Unit = { source: string; object: string; flags: readonly string[] }

export type BuildOptions = { cacheDir?: string; compiler?: Compiler; log?: (line: string) => void }

/** Where built addons are kept. */
function defaultCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cairn-tune')
}

/** Path of the addon, built first where it is not in the cache yet. */
export async function buildAddon(options: BuildOptions = {}): Promise<string> {
  const compiler = options.compiler ?? findCompiler(compilerCandidates(process.env))
  const cacheDir = options.cacheDir ?? defaultCacheDir()
  const isas = isasOf(process.arch)
  const addon = join(cacheDir, buildKey(compiler, isas), 'cairn_tune.node')
  let polls = 0
  while (!markUsed(addon)) {
    makeFolder(dirname(addon))
    const unlock = takeLock(`${addon}.lock`)
    if (!unlock) {
      // The first time the lock may be one that a dead process left.
      if (++polls === 2) options.log?.('another process is compiling the kernels; waiting until it is done')
      await delay(lockPollMs)
      continue
    }
    try {
      if (!existsSync(addon)) {
        await compile(compiler, isas, addon, options.log ?? (() => undefined))
        pruneBuilds({ cacheDir, now: Date.now(), ...(options.log && { log: options.log }) })
      }
    } finally {
      unlock()
    }
  }
  return addon
}

/**
 * Makes a folder and those above it, each by itself: Node's recursive mkdir goes on for ever where the system
 * says of a new folder below one that is there that there is no such place, as it does in /proc.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  const above = dirname(path)
  if (above !== path) makeFolder(above)
  try {
    mkdirSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    throw new Error(
      `the compiled kernels need the folder ${path}, which cannot be made (${code}); ` +
        'set XDG_CACHE_HOME to a folder that can be written',
      { cause: error },
    )
  }
}

function listSources(): string[] {
  return ['binding', 'core', 'cpu', 'generated']
    .flatMap(folder => readdirSync(join(root, folder)).map(name => join(folder, name)))
    .filter(path => /\.(cc|h)$/.test(path))
    .toSorted()
}

function buildKey(compiler: Compiler, isas: readonly Isa[]): string {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([compiler, process.platform, process.arch, isas, compileFlags, linkFlags]))
  for (const path of listSources())
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0')
  return hash.digest('hex').slice(0, 20)
}

/** Kernels are compiled for every instruction set, the rest once for the baseline. */
function listUnits(isas: readonly Isa[], objects: string): Unit[] {
  const sources = listSources().filter(path => path.endsWith('.cc'))
  const object = (path: string, isa: string) => join(objects, `${basename(path, '.cc')}.${isa}.o`)
  const kernels = sources.filter(path => dirname(path) === 'cpu')
  return [
    ...isas.flatMap(isa =>
      kernels.map(source => ({
        source,
        object: object(source, isa.name),
        flags: [...isa.flags, `-DCAIRN_ISA=${isa.name}`],
      })),
    ),
    ...sources
      .filter(path => dirname(path) !== 'cpu')
      .map(source => ({
        source,
        object: object(source, 'base'),
        flags: isas.map(({ name }) => `-DCAIRN_HAS_${name}`),
      })),
  ]
}

/** Instruction sets without the optional ones that the compiler does not know. */
async function knownIsas(compiler: Compiler, isas: readonly Isa[], work: string): Promise<Isa[]> {
  const empty = join(work, 'empty.cc')
  writeFileSync(empty, '')
  const known: Isa[] = []
  for (const isa of isas) {
    const isKnown =
      !isa.isOptional ||
      (await runCompiler(compiler, [...isa.flags, '-c', empty, '-o', join(work, 'empty.o')]).then(
        () => true,
        () => false, // What else is wrong with a compiler shows in the next files.
      ))
    if (isKnown) known.push(isa)
  }
  return known
}

async function compile(
  compiler: Compiler,
  wanted: readonly Isa[],
  addon: string,
  log: (line: string) => void,
): Promise<void> {
  const work = join(dirname(addon), `build-${process.pid}`)
  mkdirSync(work, { recursive: true })
  try {
    const headers = dirname(createRequire(import.meta.url).resolve('node-api-headers/package.json'))
    const includes = ['core', 'generated']
      .map(folder => `-I${join(root, folder)}`)
      .concat(`-I${join(headers, 'include')}`)
    const isas = await knownIsas(compiler, wanted, work)
    const units = listUnits(isas, work)
    log(
      `Building the kernels with ${compiler.version}: ${units.length} files for ` +
        `${isas.map(({ name }) => name).join(', ')}`,
    )
    const queue = [...units]
    const worker = async () => {
      for (let unit = queue.shift(); unit; unit = queue.shift()) {
        await runCompiler(compiler, [
          ...compileFlags,
          ...includes,
          ...unit.flags,
          '-c',
          join(root, unit.source),
          '-o',
          unit.object,
        ])
      }
    }
    await Promise.all(Array.from({ length: availableParallelism() }, worker))
    const linked = join(work, basename(addon))
    await runCompiler(compiler, ['-shared', '-o', linked, ...units.map(({ object }) => object), ...linkFlags])
    renameSync(linked, addon)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function runCompiler({ command }: Compiler, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    child.on('error', error => reject(new Error(`${command} could not be started`, { cause: error })))
    child.on('close', status => {
      if (status === 0) resolve()
      else
        reject(new Error(`${command} failed with status ${status}:\n${command} ${args.join(' ')}\n${said}`))
    })
  })
}

/** Takes the lock and returns how to give it back, or undefined while another living process has it. */
function takeLock(path: string): (() => void) | undefined {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!isHeld(path)) rmSync(path, { force: true })
    return undefined
  }
  return () => rmSync(path, { force: true })
}

// A builder that was killed leaves its lock; an unreadable one is being written this moment.
function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, 'utf8'))
    if (pid > 0) process.kill(pid, 0)
    return true
  } catch (error) {
    // ENOENT: given back this moment. ESRCH: its process is gone.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
