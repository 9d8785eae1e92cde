/**
 * Whose accounts the tools of a turn may use: those of the session's owner, while no other principal writes
 * to it. A turn that answers an administrator or a program uses none, because the owner's log would then show
 * what another account returns, and another person's words would act with the owner's.
 */
import type { LogStore, SessionRow } from '@cairn/log'
import { decodeEvent, type EventId, type EventOf } from '@cairn/protocol'
import type { RunnerDeps } from '../runner-deps.ts'
import { type AccountOwner, sessionOwner } from '../tools/account-owner.ts'
import type { Tool } from '../tools/tool.ts'
import type { TurnContext } from './context.ts'
import type { Lease } from './lease.ts'
import type { SessionLog } from './session-log.ts'

type Claimed = { session: SessionRow; log: Pick<SessionLog, 'position'>; lease: Lease }

/** The tools of the runner for the owner of the moment. */
export async function openTools(
  runner: Pick<RunnerDeps, 'store' | 'tools' | 'findTool' | 'prepareTools'>,
  { session, log, lease }: Claimed,
): Promise<Pick<TurnContext, 'findTool' | 'prepareTools'> & { tools(): readonly Tool[] }> {
  const ownerNow = createToolOwner(runner.store, session, log)
  let owner = await ownerNow()
  return {
    tools: () => runner.tools(owner),
    findTool: (name, signal) => runner.findTool(name, signal, owner),
    async prepareTools() {
      owner = await ownerNow()
      await runner.prepareTools(owner, lease.signal)
    },
  }
}

function createToolOwner(
  store: Pick<LogStore, 'events'>,
  session: SessionRow,
  log: Pick<SessionLog, 'position'>,
): () => Promise<AccountOwner> {
  const owner = sessionOwner(session)
  let known: { spoken_id: EventId; isOwner: boolean } | null = null

  async function isOwner(spoken_id: EventId): Promise<boolean> {
    if (spoken_id === 0) return true
    const [message] = await store.events.read(session.id, spoken_id - 1, 1, ['user.message'])
    if (message === undefined || message.id !== spoken_id) return false
    const { data } = decodeEvent(message.json) as EventOf<'user.message'>
    const { principal_user_id, principal_service_account_id } = data
    // A message without an author comes from the service itself, such as that of a schedule.
    return principal_user_id === undefined
      ? principal_service_account_id === undefined
      : principal_user_id === owner.user_id
  }
  return async () => {
    if (owner.user_id === null) return owner
    const { spoken_id } = log.position()
    if (known?.spoken_id !== spoken_id) known = { spoken_id, isOwner: await isOwner(spoken_id) }
    return known.isOwner ? owner : { ...owner, user_id: null }
  }
}
