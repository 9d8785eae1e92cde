/** Resolves the sender of a message, and whether the connection accepts it. */
import type { ChannelSender, InboundRow, LogStore } from '@cairn/log'
import type { Principal } from '@cairn/protocol'
import type { Inbound } from './adapter.ts'
import type { Connection } from './deps.ts'

export type Sender = {
  /** The linked user, otherwise the connection's service account. */
  principal: Principal
  isLinked: boolean
  /** The sender is authenticated, so allowlists apply. */
  isProven: boolean
  sender: ChannelSender
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Limits for a sender without a linked account. */
const PER_MINUTE = 20
const PER_DAY = 200
const WRONG_CODES = 5
const WRONG_CODES_MS = 60 * MINUTE_MS

export async function findSender(
  { accounts, channels }: Pick<LogStore, 'accounts' | 'channels'>,
  connection: Connection,
  { source, workspace, unproven }: Inbound,
): Promise<Sender> {
  const { org_id, platform, adapter } = connection
  const sender = await channels.seeSender(connection.id, source.user_id, source.user_name)
  const isProven = unproven !== true
  const stranger = { principal: accountOf(connection), isLinked: false, isProven, sender }
  if (!isProven) return stranger
  const identity = await channels.findIdentity({
    org_id,
    platform,
    workspace: workspace ?? adapter.workspace,
    platform_user_id: source.user_id,
  })
  const user = identity === null ? null : await accounts.getUser(identity.user_id)
  if (user === null || user.disabled_at !== null || user.org_id !== org_id) return stranger
  const { id, admin, name, email } = user
  return { principal: { kind: 'user', id, org_id, admin, name, email }, isLinked: true, isProven, sender }
}

export const accountOf = ({ service_account_id, org_id, name }: Connection): Principal => ({
  kind: 'service_account',
  id: service_account_id,
  org_id,
  scope: 'own',
  name: `channel:${name}`,
})

/** True for a blocked sender, and for a while after too many wrong codes. */
export const isIgnored = ({ verdict, wrong_codes, wrong_since }: ChannelSender, now: number): boolean =>
  verdict === 'blocked' || (wrong_codes >= WRONG_CODES && wrong_since > now - WRONG_CODES_MS)

export const countWrongCode = (
  channels: LogStore['channels'],
  { connection_id, platform_user_id }: ChannelSender,
): Promise<number> => channels.countWrongCode(connection_id, platform_user_id, WRONG_CODES_MS)

export function hasAccess({ settings }: Connection, { isLinked, isProven, sender }: Sender): boolean {
  if (isLinked || settings.access === 'open') return true
  if (!isProven) return false
  const listed = sender.verdict === 'allowed' || settings.allow.includes(sender.platform_user_id)
  return settings.access === 'allowlist' && listed
}

/** True if an unlinked sender had exceeded the limits above when this row arrived. */
export async function isFlooding(
  channels: LogStore['channels'],
  { isLinked }: Sender,
  row: InboundRow,
): Promise<boolean> {
  if (isLinked) return false
  return (
    (await channels.countInbound(row, MINUTE_MS)) > PER_MINUTE ||
    (await channels.countInbound(row, DAY_MS)) > PER_DAY
  )
}

/** An unknown sender gets at most one automatic reply a day. */
export const mayNotify = (channels: LogStore['channels'], { sender }: Sender): Promise<boolean> =>
  channels.tellSender(sender.connection_id, sender.platform_user_id, DAY_MS)
