/** The channel's own commands. They write no event; each gets an automatic reply. */
import type { InboundRow, SessionRow } from '@cairn/log'
import { redeemLinkCode } from '@cairn/sessions'
import type { Inbound } from './adapter.ts'
import { beginGeneration, findActive } from './conversation.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { disclosureOf } from './disclose.ts'
import { REPLIES, planReply } from './automatic-replies.ts'
import { countWrongCode, type Sender } from './sender.ts'

/** Matches whole words in any casing; any other text is for the agent. */
export function commandOf(text: string): { name: string; rest: string } | null {
  const found = /^\/([a-z]+)(?:\s+(\S+))?$/i.exec(text.trim())
  const name = found?.[1]?.toLowerCase()
  return name === undefined ? null : { name, rest: found?.[2] ?? '' }
}

type Asked = { row: InboundRow; inbound: Inbound; sender: Sender }

/** Runs before the access check, because it is how an unknown sender gets access. */
export async function linkAccount(
  deps: ChannelDeps,
  connection: Connection,
  { row, inbound, sender }: Asked,
  code: string,
): Promise<void> {
  const { channels, accounts } = deps.store
  const { org_id, platform, adapter } = connection
  const tell = (text: string): Promise<void> => planReply(channels, row, inbound, text)
  const isDirect = inbound.source.chat_type === 'dm'
  const user_id = await redeemLinkCode(deps, {
    org_id,
    code,
    used_by: isDirect ? `${connection.id}/${row.seq}` : 'burned',
  })
  if (!isDirect) {
    await tell(REPLIES.codeInGroup)
    return channels.dropInbound(row, 'link_in_group')
  }
  if (user_id === null) {
    await countWrongCode(channels, sender.sender)
    await tell(REPLIES.wrongCode)
    return channels.dropInbound(row, 'wrong_code')
  }
  await channels.putIdentity({
    id: deps.newId(),
    org_id,
    platform,
    workspace: inbound.workspace ?? adapter.workspace,
    platform_user_id: inbound.source.user_id,
    user_id,
  })
  await tell(REPLIES.linked((await accounts.getUser(user_id))?.name ?? 'your account'))
  await channels.dropInbound(row, 'link')
}

/** True if the text was a command of the channel and has been answered. */
export async function answerCommand(
  deps: ChannelDeps,
  connection: Connection,
  { row, inbound }: Asked,
  name: string,
): Promise<boolean> {
  const { channels } = deps.store
  const answer = await replyTo(deps, connection, row, inbound, name)
  if (answer === null) return false
  await planReply(channels, row, inbound, answer)
  await channels.dropInbound(row, `command ${name}`)
  return true
}

async function replyTo(
  deps: ChannelDeps,
  connection: Connection,
  row: InboundRow,
  inbound: Inbound,
  name: string,
): Promise<string | null> {
  const standing = await findActive(deps, connection, inbound.conversation_key)
  const session = standing?.session ?? null
  switch (name) {
    case 'start':
      return connection.adapter.sendsStart === true ? REPLIES.start : null
    case 'new':
      await beginGeneration(deps, connection, row, inbound)
      return REPLIES.fresh
    case 'disclosure':
      return (
        disclosureOf(connection, inbound.language ?? standing?.conversation.language ?? null)?.text ??
        REPLIES.noDisclosure
      )
    case 'status':
      return session === null ? REPLIES.nothingRuns : stateOf(session)
    case 'stop':
    case 'cancel':
      return session === null ? REPLIES.nothingRuns : null
    default:
      return null
  }
}

function stateOf({ status, waiting_on, wake_id, cursor }: SessionRow): string {
  if (status === 'paused') return 'The conversation is paused.'
  if (waiting_on !== null) return 'I am waiting for an answer.'
  return status === 'active' && wake_id > cursor ? 'I am working on it.' : REPLIES.nothingRuns
}
