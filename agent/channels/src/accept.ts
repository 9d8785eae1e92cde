/**
 * Turns an inbound row into a message of a session, in the commit that marks the row accepted, or drops it
 * with a reason. Work done before that commit is idempotent, so the row can be retried.
 */
import { CommitRefused, type InboundRow, type ChannelConversation, type SessionRow } from '@cairn/log'
import { AppError, asError, isBlank } from '@cairn/protocol'
import { addMessage } from '@cairn/sessions'
import { createHash } from 'node:crypto'
import { type Inbound, type Failure, SendFailed } from './adapter.ts'
import { gatherAlbum } from './album.ts'
import { answeredMessage } from './answered-message.ts'
import { backoffMs } from './backoff.ts'
import { answerCommand, commandOf, linkAccount } from './commands.ts'
import { admit, beginGeneration, ensureSession, findActive, mayContinue, ownerOf } from './conversation.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { REPLIES, planReply, refusedText } from './automatic-replies.ts'
import { takeFiles } from './file-in.ts'
import { answerButton } from './button-action.ts'
import { asMetadata, forwardedText } from './quotation.ts'
import { findSender, hasAccess, isFlooding, isIgnored, mayNotify, type Sender } from './sender.ts'

/** The session whose log may have grown; null if there is none. */
export type Accepted = string | null

/** The store counts the attempts, so an outage of the store uses none of them. */
const MAX_ATTEMPTS = 5

export async function acceptRow(
  deps: ChannelDeps,
  connection: Connection,
  row: InboundRow,
): Promise<Accepted> {
  const gathered = await gatherAlbum(deps, connection, row, JSON.parse(row.body) as Inbound)
  if (gathered === null) return null
  const { inbound, others } = gathered
  const rows: InboundRows = [row, ...others]
  try {
    const accepted = await decide(deps, connection, rows, inbound)
    await dropRest(deps, rows)
    return accepted
  } catch (error) {
    // The answer to an earlier attempt was lost, or another process accepted it.
    if (refusalOf(error) === 'already_accepted') return null
    if (error instanceof AppError && !error.retryable) {
      deps.report('warn', 'channel message rejected', { code: error.code, seq: row.seq })
      await planReply(deps.store.channels, row, inbound, refusedText(error.code))
      await deps.store.channels.dropInbound(row, error.code)
      await dropRest(deps, rows)
      return null
    }
    const { message: reason } = asError(error)
    if (row.attempts + 1 >= MAX_ATTEMPTS) {
      await giveUp(deps, connection, row, reason)
      await dropRest(deps, rows)
      return null
    }
    deps.report('warn', 'retrying a channel message', { seq: row.seq, error: reason })
    await deps.store.channels.retryInbound(row, backoffMs(row.attempts, deps.random()), reason)
    return null
  }
}

/** The row that is accepted, and the other rows of its album. */
type InboundRows = readonly [InboundRow, ...InboundRow[]]

/** Whatever became of the first row of an album is true of all. Rows that were accepted with it stay. */
async function dropRest(
  { store: { channels } }: ChannelDeps,
  [first, ...others]: InboundRows,
): Promise<void> {
  for (const other of others) await channels.dropInbound(other, `part of the album of row ${first.seq}`)
}

/** Dropped, because a row that always fails must not block its conversation. */
async function giveUp(
  { store: { channels }, report }: ChannelDeps,
  { id, name }: Connection,
  row: InboundRow,
  reason: string,
): Promise<void> {
  report('error', 'channel message abandoned', { connection: name, seq: row.seq, error: reason })
  await channels.dropInbound(row, `abandoned: ${reason}`)
  await channels.setConnection(id, 'degraded', `message abandoned after ${MAX_ATTEMPTS} attempts: ${reason}`)
  await planReply(channels, row, JSON.parse(row.body) as Inbound, refusedText('internal'))
}

function refusalOf(error: unknown): string | null {
  const refused = error instanceof AppError ? error.cause : error
  return refused instanceof CommitRefused ? refused.refusal : null
}

async function decide(
  deps: ChannelDeps,
  connection: Connection,
  rows: InboundRows,
  given: Inbound,
): Promise<Accepted> {
  const [row] = rows
  const { channels } = deps.store
  const drop = async (reason: string): Promise<null> => {
    await channels.dropInbound(row, reason)
    return null
  }
  if (given.ignore !== undefined) {
    if (given.ignore.startsWith('unreadable'))
      deps.report('warn', 'cannot read a channel message', {
        connection: connection.name,
        seq: row.seq,
        reason: given.ignore,
      })
    return drop(given.ignore)
  }
  if (given.status !== undefined) {
    await channels.movePart(connection.id, given.status)
    return drop('status')
  }
  const inbound = await admit(deps, connection, given)
  if (inbound.only_if_standing === true)
    if ((await findActive(deps, connection, inbound.conversation_key)) === null) return drop('not_mentioned')
  const { edits } = inbound
  const sender = await findSender(deps.store, connection, inbound)
  if (isIgnored(sender.sender, deps.now())) return drop('ignored')
  const asked = { row, inbound, sender }
  const command = commandOf(inbound.text)
  if (command?.name === 'link' && command.rest !== '' && !sender.isProven) {
    if (await mayNotify(channels, sender)) await planReply(channels, row, inbound, REPLIES.unproven)
    return drop('unproven')
  }
  if (command?.name === 'link' && command.rest !== '') {
    await linkAccount(deps, connection, asked, command.rest)
    return null
  }
  const refusal = !hasAccess(connection, sender)
    ? 'access'
    : (await isFlooding(channels, sender, row))
      ? 'flood'
      : null
  if (refusal !== null) {
    if (await mayNotify(channels, sender)) await planReply(channels, row, inbound, REPLIES[refusal])
    return drop(refusal)
  }
  const unread = unreadable(inbound)
  if (unread !== null) {
    deps.report('warn', 'a channel message has nothing that can be read', {
      connection: connection.name,
      seq: row.seq,
      kind: inbound.unsupported ?? 'empty',
    })
    await planReply(channels, row, inbound, unread)
    return drop(inbound.unsupported === undefined ? 'empty' : `unsupported: ${inbound.unsupported}`)
  }
  if (inbound.press !== undefined) {
    const answered = await answerButton(deps, connection, asked, inbound.press)
    if (answered !== null) notifyPressed(deps, connection, inbound)
    return answered
  }
  if (command !== null && (await answerCommand(deps, connection, asked, command.name))) return null
  const edited = edits === undefined ? null : await channels.lastInbound(row)
  // Later messages refer to the old text, and the log is never rewritten.
  if (edits !== undefined && !isOf(edited, inbound)) return drop('edit of an older message')
  return say(deps, connection, { rows, inbound, sender }, edited?.event_id ?? null)
}

/** True for the message that the edit changes, an earlier edit of it, or another picture of its album. */
function isOf(row: InboundRow | null, { edits, album }: Inbound): boolean {
  if (row === null) return false
  const before = JSON.parse(row.body) as Inbound
  return row.event_key === edits || before.edits === edits || (album !== undefined && before.album === album)
}

/** The reply to a message without anything for the agent; null if there is something. */
function unreadable({ text, files = [], forwards = [], press, unsupported }: Inbound): string | null {
  if (!isBlank(text) || files.length > 0 || forwards.length > 0 || press !== undefined) return null
  return unsupported === undefined ? REPLIES.empty : REPLIES.unsupported(unsupported)
}

const PRESSED_MS = 10_000
function notifyPressed({ report }: ChannelDeps, { name, adapter }: Connection, inbound: Inbound): void {
  adapter.pressed?.(inbound, AbortSignal.timeout(PRESSED_MS)).catch((error: unknown) =>
    report('warn', 'could not report a button action to the platform', {
      connection: name,
      error: String(error),
    }),
  )
}

async function say(
  deps: ChannelDeps,
  connection: Connection,
  { rows, inbound, sender }: { rows: InboundRows; inbound: Inbound; sender: Sender },
  edit_of: number | null,
): Promise<Accepted> {
  const [row] = rows
  const owner = ownerOf(connection, inbound, sender)
  const standing = await findActive(deps, connection, inbound.conversation_key)
  const conversation =
    standing !== null && mayContinue(standing, owner)
      ? standing.conversation
      : await beginGeneration(deps, connection, row, inbound)
  const session = await ensureSession(deps, connection, conversation, owner)
  if (connection.adapter.join !== undefined && conversation === standing?.conversation)
    await deps.store.channels.retarget(conversation.session_id, JSON.stringify(inbound.target))
  const isStop = ['stop', 'cancel'].includes(commandOf(inbound.text)?.name ?? '')
  const isLast = row.attempts + 1 >= MAX_ATTEMPTS
  const files = await takeFiles(deps, connection, row, session, inbound.files ?? [], isLast)
  const before = await threadContext(deps, connection, { inbound, conversation, session, isLast })
  const answered = await answeredMessage(deps, connection, inbound, session)
  const reply_to = answered === null ? null : asMetadata(answered)
  const metadata = {
    ...(edit_of === null ? {} : { edit_of }),
    ...(before === null ? {} : { thread_context: before }),
    ...(reply_to === null ? {} : { reply_to }),
  }
  const said = [
    edit_of === null ? inbound.text : `(edited) ${inbound.text}`,
    ...(inbound.forwards ?? []).map(forwardedText),
    ...(inbound.unsupported === undefined ? [] : [`[part that cannot be read here: ${inbound.unsupported}]`]),
    ...files.notes,
  ]
  const message = {
    session_id: session.id,
    content: isStop ? '/stop' : said.filter(line => line !== '').join('\n'),
    ...(files.attachments.length === 0 ? {} : { attachments: files.attachments }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    principal: sender.principal,
    source: inbound.source,
    request_key: requestKey(row),
    numbered: true,
    rows: [
      ...rows.map(({ connection_id, seq }) => ({ do: 'channel.accept', connection_id, seq }) as const),
      { do: 'channel.route' } as const,
    ],
    stop_reason: 'channel_stop',
  }
  try {
    await addMessage(deps, message)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'question_open') throw error
    // Text that does not answer the question becomes a message of its own and closes the question.
    await addMessage(deps, { ...message, on_question: 'pass_over' })
  }
  await deps.store.channels.closePrompts(session.id, null)
  await deps.store.channels.releaseHeld(session.id)
  return session.id
}

const requestKey = ({ connection_id, event_key }: InboundRow): string =>
  createHash('sha256').update(`${connection_id}/${event_key}`).digest('hex')

/** Maximum time to read the earlier messages of a thread, for the message that mentions the bot. */
const ASK_MS = 15_000
/** Failures that a retry would repeat, for example a missing permission of the bot. */
const FOR_GOOD: readonly Failure[] = ['permanent', 'unauthorized', 'bad_format', 'gone']

type Called = {
  inbound: Inbound
  conversation: ChannelConversation
  session: SessionRow
  /** Accept the message without the context rather than not at all. */
  isLast: boolean
}

/**
 * Null if there is nothing before, or it is not the first message. Throws while the context may still become
 * available.
 */
async function threadContext(
  { store, report }: ChannelDeps,
  { adapter, name }: Connection,
  { inbound, conversation, session, isLast }: Called,
): Promise<string | null> {
  if (conversation.generation > 0 || (await store.events.last([session.id])).has(session.id)) return null
  try {
    return (await adapter.threadBefore?.(inbound, AbortSignal.timeout(ASK_MS))) ?? null
  } catch (error) {
    const isForGood = error instanceof SendFailed && FOR_GOOD.includes(error.failure)
    if (!isLast && !isForGood) throw error
    report('warn', 'failed to read earlier messages of a thread', {
      connection: name,
      error: asError(error).message,
    })
    return null
  }
}
