/** Drafts of user.message and ask_user_question.response; the one place that holds the messages writer. */
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const write = writer('messages')

type Message = EventData<'user.message'>

export const userMessage = (data: Message): EventDraft<'user.message'> => write('user.message', data)

/**
 * Draft of a message that the server makes: a goal's kickoff, a decision of a human. It carries `synthetic`
 * and no principal.
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
    | 'metadata'
    | 'attachments'
    | 'images'
    | 'forked_from'
    | 'history'
  > = {},
): EventDraft<'user.message'> => userMessage({ content, synthetic, ...about })

export const questionAnswered = (
  data: EventData<'ask_user_question.response'>,
): EventDraft<'ask_user_question.response'> => write('ask_user_question.response', data)

/** A paused session takes messages and runs them when resumed. */
export const TAKES_INPUT = ['active', 'paused', 'completed', 'failed'] as const
