/** The folder of a session below that of all workspaces, or of all checkpoints. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

export const sessionFolder = (root: string, sessionId: string): string => join(root, sessionId)

/** Makes it where there is none. Sessions' folders are nobody else's business. */
export async function makeSessionFolder(root: string, sessionId: string): Promise<string> {
  const path = sessionFolder(root, sessionId)
  await mkdir(path, { recursive: true, mode: 0o700 })
  return path
}
