/**
 * The service's umask keeps its own files private. Files in workspaces belong to the people who work with
 * them, so they get the modes that they would have without the service.
 */

/** The umask before makeProcessPrivate. Until then the process's own umask applies. */
let before: number | null = null

/** Makes everything that this process writes private to its user, except workspaces. */
export function makeProcessPrivate(): void {
  before ??= process.umask(0o077)
}

/** The umask for files in workspaces and for commands: the one that the process started with. */
export const workspaceUmask = (): number => before ?? process.umask()
