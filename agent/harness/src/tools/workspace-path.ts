/**
 * Paths as the model writes them, held inside the session's workspace. Relative ones start at the workspace;
 * absolute ones are taken only below it, under its real name or as `__WORKSPACE__/…`. Symbolic links are
 * followed before the judgement, not after.
 */
import { lstat, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { asError } from '@cairn/protocol'
import { unlessMissing } from './missing-file.ts'

/** Stands for the absolute workspace path in everything that is recorded (contract 10.3). */
export const WORKSPACE_MARK = '__WORKSPACE__'
/** Holds what was cut from long results. Tools may read it; only the harness writes it. */
export const RESERVED_DIR = '.cairn'

/** What a path argument is wanted for. */
export type PathIntent = 'read' | 'write'
export type ResolvedPath =
  | {
      ok: true
      /** Real path, links resolved as far as it exists. */ path: string
      /** Relative to the workspace, `.` for itself. */ shown: string
    }
  | { ok: false; problem: string }

const errorCode = (thrown: unknown): string | undefined => (asError(thrown) as NodeJS.ErrnoException).code

const isBelow = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)

/**
 * Real path of `path`, its missing tail kept as written. A link that leads nowhere is a problem: writing
 * would create its target.
 */
async function realpathSoFar(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown
  }
  const there = await unlessMissing(lstat(path))
  if (there?.isSymbolicLink()) throw new Error('it is a symbolic link that leads nowhere')
  // Made between the two looks, by a call that runs beside this one: now it has a real path.
  if (there !== null) return await realpathSoFar(path)
  return join(await realpathSoFar(dirname(path)), path.slice(dirname(path).length).replace(/^[/\\]+/, ''))
}

/**
 * Judges one path argument. Never throws for what the model wrote; throws when the workspace itself is
 * missing.
 */
export async function resolvePath(
  workspace: string,
  given: string,
  intent: PathIntent,
): Promise<ResolvedPath> {
  const refuse = (why: string): ResolvedPath => ({
    ok: false,
    problem: `path '${given.slice(0, 200)}' ${why}`,
  })
  if (given.includes('\0')) return refuse('holds a NUL character')
  const root = await realpath(workspace)
  const marked =
    given === WORKSPACE_MARK || given.startsWith(WORKSPACE_MARK + '/')
      ? '.' + given.slice(WORKSPACE_MARK.length)
      : given
  const lexical =
    isAbsolute(marked) && isBelow(resolve(workspace), resolve(marked))
      ? join(root, relative(resolve(workspace), resolve(marked)))
      : resolve(root, marked)
  if (!isBelow(root, lexical))
    return refuse(`is outside the workspace (paths are relative to it, or start with ${WORKSPACE_MARK}/)`)
  let real: string
  try {
    real = await realpathSoFar(lexical)
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code === 'ENOTDIR') return refuse('goes through a file as if it were a folder')
    return refuse(
      code === 'ELOOP'
        ? 'is a circle of symbolic links'
        : code === undefined
          ? asError(thrown).message
          : `cannot be resolved (${code})`,
    )
  }
  if (!isBelow(root, real)) return refuse('leads out of the workspace through a symbolic link')
  const shown = relative(root, real).split(sep).join('/') || '.'
  if (intent === 'write' && shown.split('/')[0]?.toLowerCase() === RESERVED_DIR)
    return refuse(`is in ${RESERVED_DIR}/, which is kept for saved results and can only be read`)
  return { ok: true, path: real, shown }
}
