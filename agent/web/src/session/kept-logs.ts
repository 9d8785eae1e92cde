/** The logs in memory. Separate from the code that follows them, which the first page does not load. */
import type { FollowedSession } from './followed-session.ts'

export const keptLogs = new Map<string, FollowedSession>()

/** Forgets all logs, because another person may log in here. */
export const forgetLogs = (): void => keptLogs.clear()
