/** The folder of a session below that of all workspaces, or of all checkpoints. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

export const sessionFolder = (root: string, sessionId: string): string => join(root, sessionId)

/** Makes it where there is none. Sessions' folders are nobody else's business. */
export function makeSessionFolder(root: string, sessionId: string): string {
  const path = sessionFolder(root, sessionId)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}
