/** Reads every log of a store and judges it by the rules that any log must satisfy. */
import type { LogStore } from '@cairn/log'
import { decodeEvent, SESSION_STATUSES, type SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/state'

const PAGE = 1000

export type LogsChecked = { sessions: number; events: number; problems: string[] }

/** At rest nobody will write to the last turn any more, so it must have an end. */
const RESTS = new Set(['completed', 'failed'])

export async function checkLogs(store: LogStore, orgId: string): Promise<LogsChecked> {
  const checked: LogsChecked = { sessions: 0, events: 0, problems: [] }
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.listSessions({
      org_id: orgId,
      status: SESSION_STATUSES,
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id, status } of page.sessions) {
      const log = await readLog(store, id)
      checked.sessions++
      checked.events += log.length
      checked.problems.push(
        ...checkHistory(log, { settled: RESTS.has(status) }).map(problem => `session ${id}: ${problem}`),
      )
    }
    cursor = page.next_cursor
  }
  return checked
}

async function readLog(store: LogStore, id: string): Promise<SessionEvent[]> {
  const log: SessionEvent[] = []
  for (;;) {
    const page = await store.read(id, log.at(-1)?.id ?? 0, PAGE)
    log.push(...page.map(({ json }) => decodeEvent(json)))
    if (page.length < PAGE) return log
  }
}
