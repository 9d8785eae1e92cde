/** Why a path of a workspace cannot be used. */

/** The message is for whoever wrote the path: a model, or the user of a route. */
export class PathProblem extends Error {
  override readonly name = 'PathProblem'
}

/** What was checked is no longer what is there: somebody changes the workspace at this very moment. */
export const changed = (cause?: unknown): PathProblem =>
  new PathProblem('changed while it was being opened', { cause })

export const errorCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined

/**
 * Codes of an entry that a copy leaves out. It was removed or became something else since its folder was
 * listed (a link that is now a file is EINVAL, one that is now a socket ENXIO), may not be read, or its copy
 * would have a longer path than the system allows. A folder that changes while it is listed may name an entry
 * twice (EEXIST): the first one counts.
 */
const LEFT_OUT: readonly string[] = 'ENOENT ENOTDIR ELOOP EINVAL ENXIO EACCES EEXIST ENAMETOOLONG'.split(' ')

export const isLeftOut = (thrown: unknown): boolean => LEFT_OUT.includes(errorCode(thrown) ?? '')
