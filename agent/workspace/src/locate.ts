/**
 * Resolves paths of models and users within the session's workspace. Relative paths start at the workspace;
 * absolute paths must lie below it, under its real name or as `__WORKSPACE__/…`.
 *
 * Symbolic links that stay inside the workspace are followed, but never by the kernel: each segment is opened
 * in its parent, and the target of a link is read and walked by the same rules.
 */
import type { Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { asError } from '@cairn/protocol'
import { Directory } from './directory.ts'
import { changed, errorCode, PathProblem } from './path-problem.ts'

/** Placeholder for the absolute workspace path in everything that is recorded (contract 10.3). */
export const WORKSPACE_MARK = '__WORKSPACE__'
/** Holds the full text of truncated results. Tools may read it; only the harness writes it. */
export const RESERVED_DIR = '.cairn'

/**
 * Purpose of the access. `own`: the service's own files below `.cairn`, where it creates no symbolic links.
 */
export type PathIntent = 'read' | 'write' | 'own'

/** The target of a path, held by the open folder that contains it. */
export type Located = AsyncDisposable & {
  /** The last existing folder of the path. */
  folder: Directory
  /** Folders of the path that do not exist yet, below `folder`. */
  missing: readonly string[]
  /** The target's name in the last of these folders; null: the folder itself. */
  name: string | null
  /** Stats of the target, symbolic links resolved; null: it does not exist. */
  stats: Stats | null
  /** Path relative to the workspace; `.` for the workspace itself. */
  shown: string
}

/** Maximum symbolic links in one path, as in the kernel. */
const MAX_LINKS = 40
/**
 * Maximum folders opened for one path. Links that lead up and down again could otherwise keep it busy for
 * minutes.
 */
const MAX_STEPS = 1000

type Step = { name: string; /** The segment comes from a link's target. */ linked: boolean }

const isBelow = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
const namesOf = (path: string): string[] => path.split(sep).filter(name => name !== '' && name !== '.')

/** The segments of a path below the workspace, given by its configured or real name; null: outside. */
async function namesBelow(workspace: string, path: string): Promise<string[] | null> {
  const [given, wanted] = [resolve(workspace), resolve(path)]
  for (const root of [given, ...(isBelow(given, wanted) ? [] : [await realpath(workspace)])])
    if (isBelow(root, wanted)) return namesOf(relative(root, wanted))
  return null
}

/** Opens the folder at these names, which contain no links any more. */
async function openBelow(workspace: string, names: readonly string[]): Promise<Directory> {
  let folder = await Directory.open(workspace)
  for (const name of names) folder = await enter(folder, name)
  return folder
}

/** Opens the named subfolder and closes its parent. */
async function enter(folder: Directory, name: string): Promise<Directory> {
  await using _ = folder
  return await folder.child(name)
}

/** Converts the error of a folder or link that existed a moment ago. */
function asChange(thrown: unknown): never {
  throw ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL'].includes(errorCode(thrown) ?? '') ? changed(thrown) : thrown
}

class Walk {
  readonly #workspace: string
  readonly #intent: PathIntent
  readonly #ahead: Step[]
  readonly #names: string[] = []
  #folder: Directory
  #links = 0
  #steps = 0

  constructor(workspace: string, intent: PathIntent, names: readonly string[], root: Directory) {
    this.#workspace = workspace
    this.#intent = intent
    this.#ahead = names.map(name => ({ name, linked: false }))
    this.#folder = root
  }

  get folder(): Directory {
    return this.#folder
  }

  async run(): Promise<Omit<Located, keyof AsyncDisposable>> {
    for (;;) {
      this.#spend(1)
      const step = this.#ahead.shift()
      if (step === undefined) return this.#found(null, await this.#folder.stats())
      const { name } = step
      if (name === '..') {
        await this.#leave()
        continue
      }
      // Most segments are folders, so try that first and read the stats only if it fails.
      if (this.#ahead.length > 0 && (await this.#enter(name))) continue
      const stats = await this.#folder.look(name)
      if (stats === null) return this.#notThere(step)
      if (stats.isSymbolicLink()) await this.#follow(name)
      else if (this.#ahead.length === 0) return this.#found(name, stats)
      else if (!stats.isDirectory()) throw new PathProblem('uses a file as a folder')
      // It became a folder in the meantime.
      else this.#ahead.unshift(step)
    }
  }

  #spend(steps: number): void {
    if ((this.#steps += steps) > MAX_STEPS) throw new PathProblem('has too many segments')
  }

  async #enter(name: string): Promise<boolean> {
    try {
      const inner = await this.#folder.child(name)
      await this.#folder.close()
      this.#folder = inner
      this.#names.push(name)
      return true
    } catch (error) {
      if (['ENOTDIR', 'ELOOP', 'ENOENT'].includes(errorCode(error) ?? '')) return false
      throw error
    }
  }

  async #restart(names: readonly string[]): Promise<void> {
    this.#spend(names.length)
    const folder = await openBelow(this.#workspace, names).catch(asChange)
    await this.#folder.close()
    this.#folder = folder
    this.#names.splice(0, this.#names.length, ...names)
  }

  /** `..` in a link's target: back to the parent, never out of the workspace. */
  async #leave(): Promise<void> {
    if (this.#names.length > 0) return this.#restart(this.#names.slice(0, -1))
    // The target may lead back in by the workspace's own name; nothing outside is read to find out.
    const rest = this.#ahead.splice(0).map(({ name }) => name)
    await this.#jump(resolve(dirname(await realpath(this.#workspace)), ...rest))
  }

  async #jump(absolute: string): Promise<void> {
    const names = await namesBelow(this.#workspace, absolute)
    if (names === null) throw new PathProblem('leads out of the workspace through a symbolic link')
    await this.#restart([])
    this.#ahead.unshift(...names.map(name => ({ name, linked: true })))
  }

  async #follow(name: string): Promise<void> {
    if (this.#intent === 'own') throw new PathProblem('goes through a symbolic link')
    if ((this.#links += 1) > MAX_LINKS) throw new PathProblem('is a cycle of symbolic links')
    const target = await this.#folder.readLink(name).catch(asChange)
    if (isAbsolute(target)) await this.#jump(target)
    else this.#ahead.unshift(...namesOf(target).map(each => ({ name: each, linked: true })))
  }

  #found(name: string | null, stats: Stats): Omit<Located, keyof AsyncDisposable> {
    const shown = [...this.#names, ...(name === null ? [] : [name])].join('/') || '.'
    return { folder: this.#folder, missing: [], name, stats, shown: this.#judge(shown) }
  }

  #notThere({ name, linked }: Step): Omit<Located, keyof AsyncDisposable> {
    // Writing would create the target of the link.
    if (linked) throw new PathProblem('is a symbolic link to a missing target')
    const names = [name, ...this.#ahead.map(step => step.name)]
    const shown = [...this.#names, ...names].join('/')
    return {
      folder: this.#folder,
      missing: names.slice(0, -1),
      name: names.at(-1) ?? name,
      stats: null,
      shown: this.#judge(shown),
    }
  }

  #judge(shown: string): string {
    if (this.#intent === 'write' && shown.split('/')[0]?.toLowerCase() === RESERVED_DIR)
      throw new PathProblem(
        `is in ${RESERVED_DIR}/, which is read-only because it is reserved for saved results`,
      )
    return shown
  }
}

const outside = (): PathProblem =>
  new PathProblem(`is outside the workspace (paths are relative to it, or start with ${WORKSPACE_MARK}/)`)

async function walk(workspace: string, given: string, intent: PathIntent): Promise<Located> {
  if (given.includes('\0')) throw new PathProblem('contains a NUL character')
  const marked =
    given === WORKSPACE_MARK || given.startsWith(WORKSPACE_MARK + '/')
      ? '.' + given.slice(WORKSPACE_MARK.length)
      : given
  // Open the workspace first: if it is missing, the path is not at fault.
  const root = await Directory.open(workspace)
  let walking: Walk | undefined
  try {
    const names = await namesBelow(workspace, resolve(workspace, marked))
    if (names === null) throw outside()
    walking = new Walk(workspace, intent, names, root)
    const found = await walking.run()
    return { ...found, [Symbol.asyncDispose]: () => found.folder.close() }
  } catch (error) {
    await (walking?.folder ?? root).close()
    throw error
  }
}

/** System errors that are the fault of the path, not of the machine. */
const OF_THE_PATH: Readonly<Record<string, string>> = {
  ENAMETOOLONG: 'is longer than the operating system allows',
  EACCES: 'cannot be opened: permission denied',
  EPERM: 'cannot be opened: permission denied',
}

/**
 * Finds the target of a path and holds it. Throws a PathProblem for mistakes in the path; other errors
 * (missing workspace, disk failure) are passed through.
 */
export async function locate(workspace: string, given: string, intent: PathIntent): Promise<Located> {
  try {
    return await walk(workspace, given, intent)
  } catch (error) {
    const why = error instanceof PathProblem ? error.message : OF_THE_PATH[errorCode(error) ?? '']
    if (why === undefined) throw error
    throw new PathProblem(`path '${given.slice(0, 200)}' ${why}`, { cause: asError(error) })
  }
}

/** What is wrong with a path, as a sentence for its author; null: nothing. */
export async function pathProblem(
  workspace: string,
  given: string,
  intent: PathIntent,
): Promise<string | null> {
  try {
    await using _ = await locate(workspace, given, intent)
    return null
  } catch (error) {
    if (error instanceof PathProblem) return error.message
    throw error
  }
}
