/**
 * Paths as models and users write them, held inside the session's workspace. Relative ones start at the
 * workspace; absolute ones are taken only below it, under its real name or as `__WORKSPACE__/…`.
 *
 * Links inside the workspace are followed as long as they stay inside. The kernel follows none: each segment
 * is opened in its parent, and where it is a link, what it says is read and walked by the same rules.
 */
import type { Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { asError } from '@cairn/protocol'
import { Directory } from './directory.ts'
import { changed, errorCode, PathProblem } from './path-problem.ts'

/** Stands for the absolute workspace path in everything that is recorded (contract 10.3). */
export const WORKSPACE_MARK = '__WORKSPACE__'
/** Holds what was cut from long results. Tools may read it; only the harness writes it. */
export const RESERVED_DIR = '.cairn'

/** What a path is wanted for. `own`: the service's own files below `.cairn`, where it made no links. */
export type PathIntent = 'read' | 'write' | 'own'

/** What a path leads to, held by the folder it lies in. */
export type Located = AsyncDisposable & {
  /** The last folder of the path that is there. */
  folder: Directory
  /** Folders of the path that are not there yet, below `folder`. */
  missing: readonly string[]
  /** What is meant, in the last of those; null: the folder itself. */
  name: string | null
  /** Of what is there, links resolved; null: nothing. */
  stats: Stats | null
  /** Relative to the workspace, `.` for itself. */
  shown: string
}

/** As many as the kernel follows in one path. */
const MAX_LINKS = 40
/** Folders opened for one path. Links that lead up and down again could make it walk for minutes. */
const MAX_STEPS = 1000

type Step = { name: string; /** It was read from a link. */ linked: boolean }

const isBelow = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
const namesOf = (path: string): string[] => path.split(sep).filter(name => name !== '' && name !== '.')

/**
 * The names of a path below the workspace, under the name it was given or its real one; null: it is outside.
 */
async function namesBelow(workspace: string, path: string): Promise<string[] | null> {
  const [given, wanted] = [resolve(workspace), resolve(path)]
  for (const root of [given, ...(isBelow(given, wanted) ? [] : [await realpath(workspace)])])
    if (isBelow(root, wanted)) return namesOf(relative(root, wanted))
  return null
}

/** Opens the folder of these names; none of them is a link any more. */
async function openBelow(workspace: string, names: readonly string[]): Promise<Directory> {
  let folder = await Directory.open(workspace)
  for (const name of names) folder = await enter(folder, name)
  return folder
}

/** The folder of that name; the one it lies in is closed. */
async function enter(folder: Directory, name: string): Promise<Directory> {
  await using _ = folder
  return await folder.child(name)
}

/** A folder or a link that was there a moment ago. */
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
      // Most segments are folders: tried first, and asked about only when they turn out to be none.
      if (this.#ahead.length > 0 && (await this.#enter(name))) continue
      const stats = await this.#folder.look(name)
      if (stats === null) return this.#notThere(step)
      if (stats.isSymbolicLink()) await this.#follow(name)
      else if (this.#ahead.length === 0) return this.#found(name, stats)
      else if (!stats.isDirectory()) throw new PathProblem('goes through a file as if it were a folder')
      // It became a folder just now.
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
    } catch (thrown) {
      if (['ENOTDIR', 'ELOOP', 'ENOENT'].includes(errorCode(thrown) ?? '')) return false
      throw thrown
    }
  }

  async #restart(names: readonly string[]): Promise<void> {
    this.#spend(names.length)
    const folder = await openBelow(this.#workspace, names).catch(asChange)
    await this.#folder.close()
    this.#folder = folder
    this.#names.splice(0, this.#names.length, ...names)
  }

  /** `..` of a link: out of the folder that it was walked into, and never out of the workspace. */
  async #leave(): Promise<void> {
    if (this.#names.length > 0) return this.#restart(this.#names.slice(0, -1))
    // It may come back in, by the workspace's own name; what lies outside is not looked at for that.
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
    if (this.#intent === 'own') throw new PathProblem('is reached through a link')
    if ((this.#links += 1) > MAX_LINKS) throw new PathProblem('is a circle of symbolic links')
    const target = await this.#folder.readLink(name).catch(asChange)
    if (isAbsolute(target)) await this.#jump(target)
    else this.#ahead.unshift(...namesOf(target).map(each => ({ name: each, linked: true })))
  }

  #found(name: string | null, stats: Stats): Omit<Located, keyof AsyncDisposable> {
    const shown = [...this.#names, ...(name === null ? [] : [name])].join('/') || '.'
    return { folder: this.#folder, missing: [], name, stats, shown: this.#judge(shown) }
  }

  #notThere({ name, linked }: Step): Omit<Located, keyof AsyncDisposable> {
    // Writing would create what the link names.
    if (linked) throw new PathProblem('is a symbolic link that leads nowhere')
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
      throw new PathProblem(`is in ${RESERVED_DIR}/, which is kept for saved results and can only be read`)
    return shown
  }
}

const outside = (): PathProblem =>
  new PathProblem(`is outside the workspace (paths are relative to it, or start with ${WORKSPACE_MARK}/)`)

async function walk(workspace: string, given: string, intent: PathIntent): Promise<Located> {
  if (given.includes('\0')) throw new PathProblem('holds a NUL character')
  const marked =
    given === WORKSPACE_MARK || given.startsWith(WORKSPACE_MARK + '/')
      ? '.' + given.slice(WORKSPACE_MARK.length)
      : given
  // The workspace itself first: that it is missing is nothing about the path.
  const root = await Directory.open(workspace)
  let walking: Walk | undefined
  try {
    const names = await namesBelow(workspace, resolve(workspace, marked))
    if (names === null) throw outside()
    walking = new Walk(workspace, intent, names, root)
    const found = await walking.run()
    return { ...found, [Symbol.asyncDispose]: () => found.folder.close() }
  } catch (thrown) {
    await (walking?.folder ?? root).close()
    throw thrown
  }
}

/** What the system said about a path that belongs to the path, and not to the machine. */
const OF_THE_PATH: Readonly<Record<string, string>> = {
  ENAMETOOLONG: 'is longer than the system allows',
  EACCES: 'may not be opened',
  EPERM: 'may not be opened',
}

/**
 * Finds what a path leads to, and holds it. Throws a PathProblem for what the writer of the path did;
 * anything else (the workspace is missing, the disk fails) as it came.
 */
export async function locate(workspace: string, given: string, intent: PathIntent): Promise<Located> {
  try {
    return await walk(workspace, given, intent)
  } catch (thrown) {
    const why = thrown instanceof PathProblem ? thrown.message : OF_THE_PATH[errorCode(thrown) ?? '']
    if (why === undefined) throw thrown
    throw new PathProblem(`path '${given.slice(0, 200)}' ${why}`, { cause: asError(thrown) })
  }
}

/** What is wrong with a path, as the sentence for its writer; null: nothing. */
export async function pathProblem(
  workspace: string,
  given: string,
  intent: PathIntent,
): Promise<string | null> {
  try {
    await using _ = await locate(workspace, given, intent)
    return null
  } catch (thrown) {
    if (thrown instanceof PathProblem) return thrown.message
    throw thrown
  }
}
