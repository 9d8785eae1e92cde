/**
 * Handles a button action. Its content is untrusted: the prompt, its session, its state and the sender's
 * permissions are looked up.
 */
import type { ChannelPrompt, InboundRow } from '@cairn/log'
import { AppError, type EventData, type InboxItem } from '@cairn/protocol'
import { answerQuestion, respondInbox } from '@cairn/sessions'
import type { Inbound } from './adapter.ts'
import { findActive, mayContinue, ownerOf } from './conversation.ts'
import { verdictOf } from './decided-card.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { REPLIES, planReply } from './automatic-replies.ts'
import type { Sender } from './sender.ts'

type Asked = { row: InboundRow; inbound: Inbound; sender: Sender }

export async function answerButton(
  deps: ChannelDeps,
  connection: Connection,
  asked: Asked,
  press: string,
): Promise<string | null> {
  const { channels } = deps.store
  const { row, inbound } = asked
  const tell = async (text: string, reason: string): Promise<null> => {
    await planReply(channels, row, inbound, text)
    await channels.dropInbound(row, reason)
    return null
  }
  const [id = '', choice = ''] = press.split(':')
  const prompt = await channels.getPrompt(connection.id, id)
  const standing = await findActive(deps, connection, inbound.conversation_key)
  const label = prompt === null ? undefined : (JSON.parse(prompt.choices) as string[])[Number(choice)]
  // A prompt of another conversation or connection does not count.
  if (prompt === null || label === undefined || standing?.conversation.session_id !== prompt.session_id)
    return tell(REPLIES.promptGone, 'no_prompt')
  if (prompt.closed_at !== null) return tell(await decided(), 'prompt_closed')
  const item = prompt.item_id === null ? null : await deps.store.inbox.get(prompt.item_id)
  if (item === null) return tell(REPLIES.promptGone, 'no_item')
  // An answer needs the session's owner, like text; an approval needs the sender's permission.
  if (prompt.kind === 'question' && !mayContinue(standing, ownerOf(connection, inbound, asked.sender)))
    return tell(REPLIES.mayNotDecide, 'may_not_decide')
  try {
    const done = await (prompt.kind === 'question'
      ? answer(deps, asked, prompt, item, label)
      : decide(deps, asked, prompt, item, label))
    if (!done) return tell(REPLIES.mayNotDecide, 'may_not_decide')
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'already_answered') throw error
    if ((await channels.getInbound(row.connection_id, row.seq))?.state === 'accepted')
      return prompt.session_id
    return tell(await decided(), 'already_answered')
  }
  await channels.closePrompts(prompt.session_id, prompt.about)
  return prompt.session_id

  /** A second action shows the first decision. */
  async function decided(): Promise<string> {
    const itemId = prompt?.kind === 'gate' ? prompt.item_id : null
    const verdict = itemId === null ? null : await verdictOf(deps.store, connection.org_id, itemId)
    return verdict ?? REPLIES.promptGone
  }
}

async function answer(
  deps: ChannelDeps,
  { row, sender }: Asked,
  { session_id, about }: ChannelPrompt,
  item: InboxItem,
  label: string,
): Promise<true> {
  const { questions } = item.payload as EventData<'inbox.input_required'>
  await answerQuestion(deps, {
    session_id,
    tool_call_id: about,
    responses: questions.slice(0, 1).map(({ prompt }) => ({ question: prompt, answer: label })),
    principal: sender.principal,
    rows: [{ do: 'channel.accept', connection_id: row.connection_id, seq: row.seq }],
  })
  return true
}

/** Requires a linked user who owns the session or is an administrator; returns false otherwise. */
async function decide(
  deps: ChannelDeps,
  { row, sender }: Asked,
  { shown_hash }: ChannelPrompt,
  item: InboxItem,
  label: string,
): Promise<boolean> {
  const { principal, isLinked } = sender
  if (!isLinked) return false
  try {
    await respondInbox(
      deps,
      item.id,
      {
        decision: label === 'Approve' ? 'approve' : 'reject',
        ...(shown_hash === null ? {} : { shown_hash }),
      },
      principal,
      [{ do: 'channel.accept', connection_id: row.connection_id, seq: row.seq }],
    )
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false
    throw error
  }
}
