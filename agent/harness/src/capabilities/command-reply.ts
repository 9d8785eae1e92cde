/**
 * The server's reply to a slash command (contract 6): an llm.response that belongs to no turn and costs
 * nothing.
 */
import type { EventDraft, EventId } from '@cairn/protocol'
import { contextWindowOf } from '@cairn/models'
import type { TurnContext } from '../turn/context.ts'
import { llmResponse } from '../events.ts'

/** Stands for the model: the server itself replied, so missing rates do not matter. */
const COMMAND_MODEL = 'cairn/command'

export const commandReply = (
  { setup, config }: Pick<TurnContext, 'setup' | 'config'>,
  command_event_id: EventId,
  content: string,
): EventDraft =>
  llmResponse({
    message: { role: 'assistant', content },
    model: COMMAND_MODEL,
    input_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: 'command',
    context_window: contextWindowOf(config.models.catalog[setup.model]),
    command_event_id,
  })
