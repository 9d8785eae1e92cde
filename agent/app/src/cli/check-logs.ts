/** Checks every log of a store against the log rules, and each tree against the tree rules. */
import type { LogStore } from '@cairn/log'
import { decodeEvent, SESSION_STATUSES, type SessionEvent } from '@cairn/protocol'
import { checkHistory, checkTree } from '@cairn/verify'

const PAGE = 1000

export type LogsChecked = { sessions: number; events: number; problems: string[] }

/** The last turn of a resting session gets no more events, so it must have an end. */
const RESTS = new Set(['completed', 'failed'])

export async function checkLogs(store: LogStore, orgId: string): Promise<LogsChecked> {
  const checked: LogsChecked = { sessions: 0, events: 0, problems: [] }
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.sessions.list({
      org_id: orgId,
      status: SESSION_STATUSES,
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id, status, parent_id } of page.sessions) {
      const log = await readLog(store, id)
      checked.sessions++
      checked.events += log.length
      checked.problems.push(
        ...checkHistory(log, { settled: RESTS.has(status) }).map(problem => `session ${id}: ${problem}`),
      )
      if (parent_id === null) checked.problems.push(...(await checkTreeLogs(store, id, log)))
    }
    cursor = page.next_cursor
  }
  return checked
}

/** Descendants' logs are read a second time, so that only one tree is in memory at a time. */
async function checkTreeLogs(store: LogStore, root: string, log: SessionEvent[]): Promise<string[]> {
  const logs = new Map([[root, log]])
  for (const id of logs.keys())
    for (const { child_id } of await store.links.children(id))
      logs.set(child_id, await readLog(store, child_id))
  return logs.size === 1 ? [] : checkTree(logs).map(problem => `session ${problem}`)
}

async function readLog(store: LogStore, id: string): Promise<SessionEvent[]> {
  const log: SessionEvent[] = []
  for (;;) {
    const page = await store.events.read(id, log.at(-1)?.id ?? 0, PAGE)
    log.push(...page.map(({ json }) => decodeEvent(json)))
    if (page.length < PAGE) return log
  }
}
