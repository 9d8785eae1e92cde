/** The folder of a session below the root of all workspaces, or of all checkpoints. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

export const sessionFolder = (root: string, sessionId: string): string => join(root, sessionId)

/** Creates the folder if it is missing. Session folders are private. */
export async function makeSessionFolder(root: string, sessionId: string): Promise<string> {
  const path = sessionFolder(root, sessionId)
  await mkdir(path, { recursive: true, mode: 0o700 })
  return path
}
