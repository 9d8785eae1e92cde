/** The logs that stay in memory. Apart from what follows them, which the first page does not load. */
import type { FollowedSession } from './followed-session.ts'

export const keptLogs = new Map<string, FollowedSession>()

/** Forgets every log: another person may log in here. */
export const forgetLogs = (): void => keptLogs.clear()
