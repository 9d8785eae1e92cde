/**
 * The umask of the service is for its own files, which are private. Files of workspaces belong to the person
 * who works with them: they get the modes that they would have had without the service.
 */

/** Until the process is made private, its own umask applies and this one takes nothing away. */
let before: number | null = null

/** Makes everything that this process writes private to its user, apart from workspaces. */
export function makeProcessPrivate(): void {
  before ??= process.umask(0o077)
}

/** The umask of files in workspaces and of commands: the one that the process was started with. */
export const workspaceUmask = (): number => before ?? process.umask()
