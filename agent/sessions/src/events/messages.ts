/** Creates user.message and ask_user_question.response. The only module with the messages writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('messages')

type Message = EventData<'user.message'>

export const userMessage = (data: Message): EventDraft<'user.message'> => write('user.message', data)

/**
 * A message created by the server: a goal's kickoff, a person's decision. It carries `synthetic` and no
 * principal.
 */
export const syntheticMessage = (
  synthetic: string,
  content: string,
  about: Pick<
    Message,
    | 'outcome_id'
    | 'mission_id'
    | 'inbox_item_id'
    | 'tool_call_id'
    | 'task_id'
    | 'run_id'
    | 'request_key'
    | 'metadata'
    | 'attachments'
    | 'images'
    | 'forked_from'
    | 'history'
    | 'imported'
  > = {},
): EventDraft<'user.message'> => userMessage({ content, synthetic, ...about })

export const questionAnswered = (
  data: EventData<'ask_user_question.response'>,
): EventDraft<'ask_user_question.response'> => write('ask_user_question.response', data)

/** A paused session accepts messages and handles them when resumed. */
export const TAKES_INPUT = ['active', 'paused', 'completed', 'failed'] as const
