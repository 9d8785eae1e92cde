/**
 * Slash commands and skills as rows of the capabilities. Commands that clear or compress the conversation
 * wait for the end of the turn and its grading: a call and its result are never separated.
 */
import { parseSlashCommand } from '@cairn/state'
import type { SkillCatalogue } from '../skills/catalogue.ts'
import type { Coding } from '../code/coding.ts'
import type { Capability } from '../../turn/capability.ts'
import type { Position } from '../../turn/position.ts'
import { actOnCommand, type CommandDue } from './act-on-command.ts'

/** Pending commands and skill invocations, oldest first. */
function pendingCommands(
  { commands, turn, last_id }: Position,
  isSkill: (name: string) => boolean,
): CommandDue[] {
  return commands.waiting.flatMap(message => {
    const command = parseSlashCommand(message.content, isSkill)
    return command === null
      ? []
      : [{ message, command, through: turn.turn_id === null ? message.event_id : last_id }]
  })
}

const changesConversation = ({ command: { command } }: CommandDue): boolean =>
  command === 'clear' || command === 'compress'

const act =
  (skills: SkillCatalogue, coding: Coding | null): NonNullable<Capability<CommandDue>['act']> =>
  async (turn, due) => {
    await actOnCommand(turn, due, skills, coding)
    return { next: 'look' }
  }

export function commandCapabilities(
  skills: SkillCatalogue,
  coding: Coding | null,
): {
  commands: Capability<CommandDue>
  waiting_commands: Capability<CommandDue>
} {
  const pending = (position: Position): CommandDue[] =>
    pendingCommands(position, name => skills.skills.has(name))
  return {
    commands: {
      name: 'commands',
      asks: () => ({
        first: position =>
          pending(position).find(due => position.turn.turn_id === null || !changesConversation(due)) ?? null,
        // Only a command was sent, so no turn is needed. What a stop left open stays open.
        at_rest: ({ commands, conversation }) =>
          commands.replied && conversation.open.length === 0 ? 'completed' : null,
      }),
      act: act(skills, coding),
    },
    waiting_commands: {
      name: 'waiting_commands',
      asks: () => ({ at_end: position => pending(position).find(changesConversation) ?? null }),
      act: act(skills, coding),
    },
  }
}
