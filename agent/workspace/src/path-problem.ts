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
