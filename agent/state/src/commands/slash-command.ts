/**
 * Slash commands, parsed from the text of a user message. Pure: the runner executes them, the UI completes
 * them.
 *
 * A message is a command only if it starts with `/` and a word; a path (`/etc/hosts`) or an unknown word is
 * plain text for the model, unless it names a skill.
 */
import { CODE_USAGE, type CodeCommand, parseCode } from './code-command.ts'
import { LOOP_USAGE, type LoopCommand, parseLoop } from './loop-command.ts'
import { type MissionCommand, parseMission } from './mission-command.ts'
import { splitRubric } from './rubric-block.ts'

export type GoalCommand =
  | { command: 'goal'; action: 'define'; description: string; rubric: string | null }
  | { command: 'goal'; action: 'status' | 'pause' | 'resume' | 'clear' }
export type SlashCommand =
  | GoalCommand
  | CodeCommand
  | LoopCommand
  | MissionCommand
  | { command: 'clear' | 'compress' | 'stop' | 'help' }
  | { command: 'skill'; skill: string; arguments: string }

export const SLASH_COMMANDS = [
  {
    name: 'goal',
    usage: '/goal <text>',
    does: 'set a goal that an evaluator grades after every turn; a block "Rubric:" sets how',
  },
  { name: 'goal', usage: '/goal status | pause | resume | clear', does: 'show or control the goal' },
  ...CODE_USAGE,
  ...LOOP_USAGE,
  {
    name: 'mission',
    usage: '/mission <text>',
    does:
      'work on a mission in rounds, with workers; a block "Rubric:" sets how it is graded, a ' +
      'line "Budget: 500k tokens | $5 | 2h" limits it',
  },
  {
    name: 'mission',
    usage: '/mission status | pause [reason] | resume [note] | cancel [--keep-workers] [reason]',
    does: 'show or control the mission',
  },
  {
    name: 'research',
    usage: '/research <question>',
    does:
      'research a question in branches, and write a report from fetched sources; ' +
      '"Rubric:" and "Budget:" as for a mission. With a line "Metric: max ./score.sh" branches ' +
      'change files, and that command measures them',
  },
  { name: 'clear', usage: '/clear', does: 'start a new conversation; the log keeps the old one' },
  { name: 'compress', usage: '/compress', does: 'summarize the older part of the conversation' },
  { name: 'stop', usage: '/stop', does: 'stop the running turn' },
  { name: 'help', usage: '/help', does: 'list the commands and skills' },
] as const

const GOAL_ACTIONS = ['status', 'pause', 'resume', 'clear'] as const
const BARE = ['clear', 'compress', 'stop', 'help'] as const

export function parseSlashCommand(text: string, isSkill: (name: string) => boolean): SlashCommand | null {
  if (!text.startsWith('/')) return null
  const match = /^\/([A-Za-z][\w-]*)(?:\s+([\s\S]*))?$/.exec(text.trimEnd())
  if (!match) return null
  const name = match[1]!.toLowerCase()
  const rest = (match[2] ?? '').trim()
  const bare = BARE.find(command => command === name)
  if (bare) return rest === '' ? { command: bare } : null
  if (name === 'goal') return parseGoal(rest)
  if (name === 'code') return parseCode(rest)
  if (name === 'loop') return parseLoop(rest)
  if (name === 'mission' || name === 'research') return parseMission(rest, name)
  return isSkill(name) ? { command: 'skill', skill: name, arguments: rest } : null
}

/**
 * A command of the server itself, which never reaches the model. A skill does reach it: its message is
 * expanded.
 */
export const isServerCommand = (text: string): boolean => parseSlashCommand(text, () => false) !== null

function parseGoal(rest: string): GoalCommand {
  if (rest === '') return { command: 'goal', action: 'status' }
  const action = GOAL_ACTIONS.find(word => word === rest.toLowerCase())
  if (action) return { command: 'goal', action }
  return { command: 'goal', action: 'define', ...splitRubric(rest) }
}
