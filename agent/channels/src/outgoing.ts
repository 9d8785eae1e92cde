/** What goes out of a connection: notices, dead letters sent again, and what is new in the logs. */
import type { DueConversation } from '@cairn/log'
import { deliverConversation, deliverNotice, redeliver } from './deliver.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { createProgress } from './progress.ts'
import type { Delivering } from './send-part.ts'
import { createSideBySide } from './side-by-side.ts'
import { createTyping } from './typing.ts'

const AT_ONCE = 32
const PAGE = 1000

export type Outgoing = {
  /** One look at what there is to do; what it begins is under way when it returns. */
  pass(epoch: number): Promise<void>
  idle(): Promise<void>
}

export function createOutgoing(
  deps: ChannelDeps,
  connection: Connection,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  /** There may be more to do. */
  nudge: (afterMs?: number) => void,
): Outgoing {
  const { channels } = deps.store
  const tasks = createSideBySide(onError)
  const progress = createProgress()
  const typing = createTyping()
  /** How far the log of a running turn was looked at: not again before something has come. */
  const looked = new Map<string, number>()
  /** Where the last look ended for want of a place: nobody is passed over twice. */
  let after = ''
  let isCut = false

  /** False: there is no place. */
  function begin(by: Delivering, conversation: DueConversation): boolean {
    const { session_id, last_id, running } = conversation
    typing.touch(by, conversation)
    if (running === 1 && looked.get(session_id) === last_id) return true
    if (tasks.size() >= AT_ONCE) return false
    tasks.begin(session_id, async () => {
      looked.delete(session_id)
      const later = await deliverConversation(by, conversation, progress)
      if (later !== null) return nudge(later)
      if (running === 1) looked.set(session_id, last_id)
      // Others found no place, or more came while this was under way and found it busy.
      const isAhead = ((await deps.store.lastEvents([session_id])).get(session_id)?.id ?? 0) > last_id
      if (isCut || isAhead) nudge()
    })
    return true
  }

  /** All conversations that are due, beginning after the last one that found a place. */
  async function look(by: Delivering): Promise<void> {
    const start = after
    let isSecondHalf = start === ''
    isCut = false
    for (;;) {
      const due = await channels.dueConversations(connection.id, after, PAGE)
      for (const conversation of due) {
        if (isSecondHalf && start !== '' && conversation.session_id > start) return
        if (!begin(by, conversation)) {
          isCut = true
          return
        }
        after = conversation.session_id
      }
      if (due.length === PAGE) continue
      after = ''
      if (isSecondHalf) return
      isSecondHalf = true
    }
  }

  return {
    idle: tasks.idle,
    async pass(epoch) {
      connection.health.state = (await channels.getConnection(connection.id))?.state ?? 'disabled'
      if (connection.health.state === 'disabled') return
      const by: Delivering = { deps, connection, fence: { connection_id: connection.id, epoch }, signal }
      for (const notice of await channels.dueNotices(connection.id, AT_ONCE))
        tasks.begin(`notice ${notice.event_id}`, () => deliverNotice(by, notice))
      for (const redo of await channels.dueRedos(connection.id, AT_ONCE))
        tasks.begin(redo.session_id, () => redeliver(by, redo))
      await look(by)
    },
  }
}
