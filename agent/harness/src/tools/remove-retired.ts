/**
 * Removes the workspaces and checkpoints of archived sessions and of their children, which are archived with
 * them. It queries the log for the existing folders, so it needs no record of its own: the next sweep finds
 * what a crash left behind, and each machine removes its own folders. Folders of unknown sessions are left
 * alone.
 */
import type { LogStore } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { Directory, removeTree, unlessMissing } from '@cairn/workspace'
import { type Clock, every, systemClock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'

export type RemoveRetired = {
  store: { sessions: Pick<LogStore['sessions'], 'retired'> }
  /** Directories that contain a folder per session, named by its id. */
  places: readonly string[]
  /** Whether something of the session still runs in this process. */
  isHeld: (sessionId: string) => boolean
  /**
   * How long files are kept once their session was found archived: another process may still be ending its
   * command.
   */
  graceMs: number
  logger: Logger
  clock?: Clock
}

const SWEEP_MS = 60_000
/** The interval of sweeps, so that one comes soon after the grace period. */
export const sweepMs = (graceMs: number): number => Math.min(SWEEP_MS, 2 * graceMs)
const ASKED_AT_ONCE = 500

/**
 * Sweeps now and every minute, more often with a short grace period. Returns a function that stops it and
 * waits for the current removal.
 */
export function removeRetired({
  store,
  places,
  isHeld,
  graceMs,
  logger,
  clock = systemClock,
}: RemoveRetired): () => Promise<void> {
  /** When a session was first found archived; the first sweep after the grace period removes it. */
  const seen = new Map<string, number>()
  const told = new Set<string>()
  let stopped = false
  let sweeping: Promise<void> = Promise.resolve()

  async function findRetired(ids: readonly string[]): Promise<string[]> {
    const found: string[] = []
    for (let at = 0; at < ids.length; at += ASKED_AT_ONCE)
      found.push(...(await store.sessions.retired(ids.slice(at, at + ASKED_AT_ONCE))))
    return found
  }

  function isDue(id: string): boolean {
    const since = seen.get(id) ?? clock.monotonic()
    seen.set(id, since)
    return clock.monotonic() - since >= graceMs && !isHeld(id)
  }

  async function sweep(): Promise<void> {
    const there = await Promise.all(places.map(foldersIn))
    const retired = new Set(await findRetired([...new Set(there.flat().map(ownerOf))]))
    for (const id of seen.keys()) if (!retired.has(id)) seen.delete(id)
    for (const id of retired) {
      if (stopped) return
      if (isDue(id)) await remove(id)
    }
  }

  /**
   * A folder that cannot be removed (files of another user, for example) does not prevent others, and is
   * logged once.
   */
  async function remove(session_id: string): Promise<void> {
    try {
      for (const place of places)
        for (const name of await foldersIn(place))
          if (ownerOf(name) === session_id) await removeTree(place, name)
      seen.delete(session_id)
      logger('info', 'the workspace of an archived session was removed', { session_id })
    } catch (error) {
      if (told.has(session_id)) return
      told.add(session_id)
      logger('warn', 'failed to remove the workspace of an archived session; it is retried every minute', {
        session_id,
        error: asError(error).message,
      })
    }
  }

  function look(): Promise<void> {
    sweeping = sweeping.then(sweep).catch((error: unknown) =>
      logger('error', 'failed to remove workspaces of archived sessions; it will be retried', {
        error: asError(error).message,
      }),
    )
    return sweeping
  }

  void look()
  const cancel = every(clock, sweepMs(graceMs), look)
  return async () => {
    stopped = true
    cancel()
    await sweeping
  }
}

/** An unfinished copy of a workspace is named by its session, a dot, and a suffix. */
const ownerOf = (folder: string): string => folder.split('.', 1)[0] ?? folder

async function foldersIn(place: string): Promise<string[]> {
  await using directory = await unlessMissing(Directory.openPlace(place))
  if (directory === null) return []
  return (await directory.entries()).filter(({ kind }) => kind === 'folder').map(({ name }) => name)
}
