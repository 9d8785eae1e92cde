/** The log of the open session. Some logs stay in memory, so that returning to one resumes at its cursor. */
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { followLog } from '../live/live.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { type FollowedSession, followSession } from './followed-session.ts'
import { keptLogs as logs } from './kept-logs.ts'

const KEPT = 4

function logOf(id: string): FollowedSession {
  const log =
    logs.get(id) ??
    followSession(id, followLog, {
      request: callback => {
        requestAnimationFrame(callback)
      },
      now: () => performance.now(),
    })
  logs.delete(id)
  logs.set(id, log)
  for (const oldest of logs.keys()) {
    if (logs.size <= KEPT) break
    logs.delete(oldest)
  }
  return log
}

export function useSessionLog(id: string): FollowedSession {
  const log = useMemo(() => logOf(id), [id])
  useEffect(() => followWhileVisible(() => log.follow()), [log])
  useSyncExternalStore(log.subscribe, () => log.revision)
  return log
}
