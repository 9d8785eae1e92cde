/**
 * The model's conversation as a fold of the log (contract 7). The runner sends it, and recovery consists of
 * folding it.
 *
 * Two rules shape it. A tool call and its result stay together: what arrives between them (a steering
 * message, the outcome of a child session) waits until every call of the response has its result, as model
 * servers require. And nothing is lost: what a compaction replaced is still in the log; only the fold starts
 * from the summary.
 */
import type { EventId, EventOf } from '@cairn/protocol'
import { factsOf, isBlank, noteOf, type SessionEvent } from '@cairn/protocol'
import { WAIT_TOOL } from '../capabilities/children.ts'
import { askCall, answerText, callsOf, changeCall, type OpenCall } from './open-calls.ts'
import { beginWith, startsWithHistory } from './fork.ts'
import type { Conversation, ConversationEntry, ConversationMessage } from './messages.ts'
import { append, type Owned } from './owned.ts'
import { asModelReads } from './said-message.ts'
import { isServerCommand } from '../commands/slash-command.ts'
import { BLOCK_TOOL } from '../capabilities/tasks.ts'

export const emptyConversation: Conversation = { entries: [], open: [], answering: false, deferred: [] }

export const foldConversation = (conversation: Conversation, event: SessionEvent): Conversation =>
  foldConversationInto(null, conversation, event)

/** Like foldConversation, for folding many events when only the final state is needed. */
export function foldConversationInto(
  owned: Owned,
  conversation: Conversation,
  event: SessionEvent,
): Conversation {
  switch (event.type) {
    case 'user.message': {
      const { content, images, synthetic, tool_call_id, run_id } = event.data
      if (startsWithHistory(synthetic)) return beginWith(owned, conversation, event.id, event.data.history)
      // A command is for the server and a run's decision is for its coding agent: the model reads neither.
      if (run_id !== undefined || (synthetic === undefined && isServerCommand(content))) return conversation
      // This answer becomes the result of the blocked call.
      if (synthetic === 'task_unblocked' && waitsFor(conversation, tool_call_id)) return conversation
      return say(owned, conversation, event.id, {
        role: 'user',
        content: asModelReads(event.data),
        ...(images?.length ? { images } : {}),
      })
    }
    case 'skill.invoked':
      return event.data.expanded === undefined
        ? conversation
        : replaceText(conversation, event.data.user_message_id, event.data.expanded)
    case 'llm.request':
      return { ...admit(owned, closeAnswered(owned, conversation)), answering: true }
    case 'llm.response': {
      // A slash command's reply is for the user; the model did not write it.
      if (event.data.finish_reason === 'command') return conversation
      const message = event.data.message
      // Model servers reject an assistant message without visible text and calls.
      if (isBlank(message.content) && !message.tool_calls?.length)
        return admit(owned, { ...conversation, answering: false })
      return admit(owned, {
        ...conversation,
        answering: false,
        entries: append(conversation.entries, [{ event_id: event.id, message }], owned),
        open: [...conversation.open, ...callsOf(message)],
      })
    }
    case 'tool.call':
      return call(conversation, event)
    // The result of the call that started the run includes its outcome.
    case 'code.run_result':
      return waitsFor(conversation, event.data.tool_call_id, 'called')
        ? conversation
        : note(owned, conversation, event)
    case 'worker.complete':
    case 'worker.failed':
      return waitsFor(conversation, event.data.tool_call_id) ? conversation : note(owned, conversation, event)
    case 'inbox.input_required':
      return { ...conversation, open: askCall(conversation.open, event.data.tool_call_id) }
    case 'delegation.start':
      return mark(conversation, event.data.tool_call_id, { state: 'waiting' })
    case 'tool.result':
      return close(owned, conversation, event.id, event.data)
    case 'ask_user_question.response':
      return mark(conversation, event.data.tool_call_id, {
        state: 'answered',
        answered: { event_id: event.id, at: event.created_at, responses: event.data.responses },
      })
    case 'saga.compensate':
      return event.data.told === undefined
        ? conversation
        : sayBefore(conversation, event.id, `[Rolled back]\n${event.data.told}`)
    case 'context.compact':
      return compact(
        conversation,
        event.data.through_event_id,
        event.data.compacted_messages as ConversationMessage[],
      )
    default:
      return note(owned, conversation, event)
  }
}

/**
 * Replaces what the summary covers. A call is never separated from its result: open calls stay, and results
 * whose call is covered are dropped.
 */
function compact(
  conversation: Conversation,
  through: EventId,
  summary: readonly ConversationMessage[],
): Conversation {
  const madeBy = (entry: ConversationEntry): string[] =>
    entry.message.role === 'assistant' ? (entry.message.tool_calls ?? []).map(call => call.id) : []
  const open = new Set(conversation.open.map(call => call.tool_call_id))
  const owner = conversation.entries.findIndex(entry => madeBy(entry).some(call => open.has(call)))
  const kept = conversation.entries.filter(
    (entry, index) => entry.event_id > through || (owner !== -1 && index >= owner),
  )
  const calls = new Set(kept.flatMap(madeBy))
  const paired = kept.filter(({ message }) => message.role !== 'tool' || calls.has(message.tool_call_id))
  return {
    ...conversation,
    entries: [...summary.map(message => ({ event_id: through, message })), ...paired],
  }
}

/** The text that the model reads for this event, as a separate message (defined by the contract). */
function note(owned: Owned, conversation: Conversation, event: SessionEvent): Conversation {
  const said = noteOf(event)
  if (said === null) return conversation
  const message = { role: 'user', content: `[${said[0]}]${said[1] && `\n${said[1]}`}` } as const
  const isLater = factsOf(event.type).read_later && !('wake' in event.data && event.data.wake)
  return say(owned, conversation, event.id, message, isLater)
}

function say(
  owned: Owned,
  conversation: Conversation,
  event_id: EventId,
  message: ConversationMessage,
  quiet = false,
): Conversation {
  const entry = { event_id, message, ...(quiet ? { quiet: true as const } : {}) }
  return conversation.open.length > 0 || conversation.answering
    ? { ...conversation, deferred: append(conversation.deferred, [entry], owned) }
    : { ...conversation, entries: append(conversation.entries, [entry], owned) }
}

/**
 * Inserts after the work that it refers to and before later messages, so that the person's message stays
 * last.
 */
function sayBefore(conversation: Conversation, event_id: EventId, content: string): Conversation {
  const entry = { event_id, message: { role: 'user', content } as const }
  if (conversation.open.length > 0 || conversation.answering)
    return { ...conversation, deferred: [entry, ...conversation.deferred] }
  const at = conversation.entries.findLastIndex(({ message }) => message.role !== 'user') + 1
  return { ...conversation, entries: conversation.entries.toSpliced(at, 0, entry) }
}

/** Appends the deferred entries unless calls are still open. */
const admit = (owned: Owned, conversation: Conversation): Conversation =>
  conversation.open.length > 0 || conversation.deferred.length === 0
    ? conversation
    : { ...conversation, entries: append(conversation.entries, conversation.deferred, owned), deferred: [] }

function replaceText(conversation: Conversation, eventId: EventId, content: string): Conversation {
  const swap = (entry: ConversationEntry): ConversationEntry =>
    entry.event_id === eventId && entry.message.role === 'user'
      ? { ...entry, message: { ...entry.message, content } }
      : entry
  return {
    ...conversation,
    entries: conversation.entries.map(swap),
    deferred: conversation.deferred.map(swap),
  }
}

const mark = (conversation: Conversation, callId: string, change: Partial<OpenCall>): Conversation => ({
  ...conversation,
  open: changeCall(conversation.open, callId, change),
})

const call = (conversation: Conversation, { id, created_at, data }: EventOf<'tool.call'>): Conversation =>
  mark(conversation, data.tool_call_id, {
    // A tool runs under its own name, also if the model wrote it with blanks or in another case.
    name: data.name,
    state: data.name === WAIT_TOOL || data.name === BLOCK_TOOL ? 'waiting' : 'called',
    call_event_id: id,
    called_at: created_at,
  })

/** Whether a call waits for this: its result will contain it. */
const waitsFor = ({ open }: Conversation, id: string | undefined, state = 'waiting'): boolean =>
  id !== undefined && open.some(call => call.tool_call_id === id && call.state === state)

type ResultData = EventOf<'tool.result'>['data']

/**
 * The first result counts; a result of a call that is not open changes nothing. A person's answer keeps the
 * time of the answer, not that of the later tool.result.
 */
function close(
  owned: Owned,
  conversation: Conversation,
  eventId: EventId,
  { tool_call_id, content, pictures }: Pick<ResultData, 'tool_call_id' | 'content' | 'pictures'>,
): Conversation {
  const closed = conversation.open.find(call => call.tool_call_id === tool_call_id)
  if (closed === undefined) return conversation
  const open = conversation.open.filter(call => call.tool_call_id !== tool_call_id)
  const event_id = closed.answered?.event_id ?? eventId
  const entries = append(
    conversation.entries,
    [{ event_id, message: { role: 'tool', tool_call_id, content }, ...(pictures ? { pictures } : {}) }],
    owned,
  )
  return admit(owned, { ...conversation, entries, open })
}

/**
 * Older releases wrote no tool.result for an answered question: in their logs the next model call follows
 * directly, and the answer is the result.
 */
function closeAnswered(owned: Owned, conversation: Conversation): Conversation {
  let closed = conversation
  for (const { tool_call_id, answered } of conversation.open)
    if (answered !== null)
      closed = close(owned, closed, answered.event_id, {
        tool_call_id,
        content: answerText(answered.responses),
      })
  return closed
}
