/**
 * Pending messages that begin with a slash, as a fold of the log. Each is a command, a skill or plain text,
 * depending on the skills at that time.
 */
import type { EventData, EventId, SessionEvent } from '@cairn/protocol'

export type SlashMessage = Pick<
  EventData<'user.message'>,
  'content' | 'metadata' | 'attachments' | 'images'
> & {
  event_id: EventId
}

export type PendingCommands = {
  /** Neither replied to nor expanded yet, oldest first. */
  readonly waiting: readonly SlashMessage[]
  /** A command was replied to since the end of the last turn. */
  readonly replied: boolean
}

export const noCommands: PendingCommands = { waiting: [], replied: false }

export function foldCommands(commands: PendingCommands, event: SessionEvent): PendingCommands {
  switch (event.type) {
    case 'user.message': {
      const { content, metadata, attachments, images, synthetic } = event.data
      if (synthetic !== undefined || !content.startsWith('/')) return commands
      const message = {
        event_id: event.id,
        content,
        ...(metadata ? { metadata } : {}),
        ...(attachments ? { attachments } : {}),
        ...(images ? { images } : {}),
      }
      return { ...commands, waiting: [...commands.waiting, message] }
    }
    // From here on the run is responsible for it; the run's end is the reply.
    case 'code.run_started':
      return without(commands, event.data.source_event_id)
    case 'skill.invoked':
      return without(commands, event.data.user_message_id)
    case 'llm.response':
      return event.data.finish_reason === 'command'
        ? { ...without(commands, event.data.command_event_id), replied: true }
        : commands
    // A failed turn is retried, including the commands that it did not reach.
    case 'session.fail':
    case 'outcome.continuation':
    case 'mission.continuation':
      return { ...commands, replied: false }
    case 'session.complete':
    case 'session.stopped':
      return noCommands
    default:
      return commands
  }
}

const without = (commands: PendingCommands, id: EventId | undefined): PendingCommands => ({
  ...commands,
  waiting: commands.waiting.filter(message => message.event_id !== id),
})
