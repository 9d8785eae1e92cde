/** Why a path in a workspace cannot be used. */

/** The message is for the author of the path: a model, or the user of a route. */
export class PathProblem extends Error {
  override readonly name = 'PathProblem'
}

/** The entry changed after it was checked: something is modifying the workspace right now. */
export const changed = (cause?: unknown): PathProblem =>
  new PathProblem('changed while it was being opened', { cause })

export const errorCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined

/**
 * Error codes of entries that a copy leaves out: removed or replaced since its folder was listed (a symbolic
 * link that became a file is EINVAL, a socket ENXIO), not readable, or a path too long for the system. A
 * folder that changes while it is listed may return a name twice (EEXIST): the first one counts.
 */
const LEFT_OUT: readonly string[] = 'ENOENT ENOTDIR ELOOP EINVAL ENXIO EACCES EEXIST ENAMETOOLONG'.split(' ')

export const isLeftOut = (thrown: unknown): boolean => LEFT_OUT.includes(errorCode(thrown) ?? '')
