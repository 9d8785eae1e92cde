/** Creates a session that starts with the history of another and a copy of its current files. */
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, asError } from '@cairn/protocol'
import { forkSession as fork } from '@cairn/sessions'
import {
  copyWorkspace,
  PathProblem,
  removeTree,
  RESERVED_DIR,
  sessionFolder,
  TooLarge,
} from '@cairn/workspace'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import { agentNames } from './sessions.ts'
import { shownSession } from './session-view.ts'

/** The same limits as for the workspace copy of a worker. */
const LIMITS = { max_bytes: 2 * 1024 ** 3, max_files: 100_000 }
const COPY_MS = 60_000

export const forkSession: Handler<'forkSession'> = async ({ services, principal, params, body }) => {
  const source = await services.guard.load(principal, params.id)
  const copy = `${source.id}.${services.newId()}`
  await copyFiles(services, source.id, copy)
  const { workspacesDir } = services
  try {
    const made = await fork(services, {
      source,
      event_id: body.event_id,
      agents: await agentNames(services, principal),
      principal,
    })
    // No turn has run yet: the first one starts with a message to the session.
    await rename(join(workspacesDir, copy), sessionFolder(workspacesDir, made.id))
    return await shownSession(services, made)
  } catch (error) {
    await removeTree(workspacesDir, copy)
    throw error
  }
}

async function copyFiles({ workspacesDir }: Services, sourceId: string, copy: string): Promise<void> {
  await mkdir(workspacesDir, { recursive: true, mode: 0o700 })
  try {
    await copyWorkspace(sessionFolder(workspacesDir, sourceId), join(workspacesDir, copy), {
      ...LIMITS,
      skip: [RESERVED_DIR],
      keep_bytes: 0,
      signal: AbortSignal.timeout(COPY_MS),
      onFile: () => Promise.resolve(),
    })
  } catch (error) {
    await removeTree(workspacesDir, copy)
    throw refusalOf(error) ?? error
  }
}

/** Null if the session and its commands did not cause the error. */
function refusalOf(thrown: unknown): AppError | null {
  const refuse = (code: 'limit_reached' | 'wrong_state', why: string): AppError =>
    new AppError(code, `Cannot fork the session: ${why}.`, { cause: thrown })
  if (thrown instanceof TooLarge) return refuse('limit_reached', thrown.message)
  if (thrown instanceof PathProblem) return refuse('wrong_state', thrown.message)
  return asError(thrown).name === 'TimeoutError'
    ? refuse('limit_reached', `copying its files took longer than ${COPY_MS / 1000} s`)
    : null
}
