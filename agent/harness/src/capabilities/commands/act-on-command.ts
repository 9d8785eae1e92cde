/**
 * Slash commands (contract 6): the effect and the reply of each are one commit, so that a crash leaves either
 * nothing or everything. If the commit is refused, the command is still due and is executed again. The reply
 * is an llm.response that names its command, belongs to no turn, costs nothing, and that the model never
 * reads.
 */
import { CommitRefused, type Refusal } from '@cairn/log'
import type { EventDraft, EventId } from '@cairn/protocol'
import { actOnGoal, type GoalAction, missionResumption } from '@cairn/sessions'
import { SLASH_COMMANDS, type SlashCommand, type SlashMessage } from '@cairn/state'
import { commandReply } from '../command-reply.ts'
import { beginByCommand, refusedRun } from '../code/command.ts'
import type { Coding } from '../code/coding.ts'
import { compactNow } from '../compaction/compact.ts'
import { actOnLoop, refusedLoop } from '../schedules/act-on-loop.ts'
import { actOnMission } from '../missions/command.ts'
import type { SkillCatalogue } from '../skills/catalogue.ts'
import { invokeSkill } from '../skills/invoke.ts'
import { usageList } from '../usage-list.ts'
import type { TurnContext } from '../../turn/context.ts'
import type { Append } from '../../turn/session-log.ts'
import { contextCompact } from '../../events.ts'

export type CommandDue = {
  message: SlashMessage
  command: SlashCommand
  /** A /clear removes everything up to here. */
  through: EventId
}

export async function actOnCommand(
  turn: TurnContext,
  { message, command, through }: CommandDue,
  skills: SkillCatalogue,
  coding: Coding | null,
): Promise<void> {
  const { log, workspace, newId } = turn
  switch (command.command) {
    case 'skill': {
      const skill = skills.skills.get(command.skill)
      if (!skill) throw new Error(`[command] unknown skill ${command.skill}`)
      await log.append([await invokeSkill(skill, command.arguments, message, workspace)])
      return
    }
    case 'goal': {
      const carried = {
        ...(message.attachments ? { attachments: message.attachments } : {}),
        ...(message.images ? { images: message.images } : {}),
      }
      const { goal, mission, last_id } = log.position()
      // A goal may be set over the API at any time: a decision made without it is not written.
      const action = actOnGoal(goal, command, newId, carried, mission)
      return reply(turn, message, action, { expect_no_work_after: last_id })
    }
    case 'loop': {
      const { reply: said, rows } = await actOnLoop(turn, command, message.event_id)
      try {
        // If rows of schedules have changed, nothing is written and the command is executed again.
        return await reply(turn, message, { before: [], reply: said, after: [] }, { rows })
      } catch (error) {
        const why = refusedLoop(error)
        if (why === null) throw error
        return reply(turn, message, { before: [], reply: why, after: [] })
      }
    }
    case 'code': {
      const begun = beginByCommand(turn, coding, command, message)
      if (typeof begun === 'string') return reply(turn, message, { before: [], reply: begun, after: [] })
      try {
        // The run's end is the reply.
        await log.append([begun])
      } catch (error) {
        const why = refusedRun(error)
        if (why === null) throw error
        return reply(turn, message, { before: [], reply: why, after: [] })
      }
      return
    }
    case 'mission': {
      const { append, ...action } = await actOnMission(turn, command, message)
      return reply(turn, message, action, append)
    }
    case 'clear':
      return reply(turn, message, {
        before: [clear(turn, through)],
        reply: 'New conversation started. The log keeps the old one.',
        after: told(turn),
      })
    case 'compress':
      return reply(turn, message, await compress(turn))
    case 'stop':
      return reply(turn, message, { before: [], reply: 'No turn is running.', after: [] })
    case 'help':
      return reply(turn, message, { before: [], reply: help(skills), after: [] })
  }
}

async function reply(
  turn: TurnContext,
  { event_id }: SlashMessage,
  { before, reply: content, after }: GoalAction,
  append: Append = {},
): Promise<void> {
  const { log } = turn
  const response = commandReply(turn, event_id, content)
  try {
    await log.append([...before, response, ...after], append)
  } catch (error) {
    if (!(error instanceof CommitRefused) || !AGAIN.includes(error.refusal)) throw error
    await log.catchUp()
  }
}

/** Refusals that mean that the data changed before the commit. */
const AGAIN: readonly Refusal[] = [
  'new_work',
  'schedule_moved',
  'mission_moved',
  'tree_moved',
  'task_moved',
  'already_settled',
  'code_run_ended',
  'wrong_status',
]

/** A mission whose round has not ended continues, with a reminder of its objective. */
function told({ log }: TurnContext): EventDraft[] {
  const { mission, turn } = log.position()
  const isDue = mission?.status === 'active' && mission.owed === null && mission.open === null
  return isDue && turn.turn_id === null ? [missionResumption(mission, undefined)] : []
}

function clear({ log }: TurnContext, through: number): EventDraft {
  const { entries } = log.position().conversation
  return contextCompact({
    strategy: 'clear',
    original_message_count: entries.filter(entry => entry.event_id <= through).length,
    compressed_message_count: 0,
    through_event_id: through,
    compacted_messages: [],
  })
}

async function compress(turn: TurnContext): Promise<GoalAction> {
  const compacted = await compactNow(turn)
  if (compacted === null) return { before: [], reply: 'There is not enough to summarize yet.', after: [] }
  return {
    before: [compacted.event],
    reply: `Summarized: ${compacted.before} messages became ${compacted.after}. The log keeps the originals.`,
    after: [],
  }
}

function help({ skills }: SkillCatalogue): string {
  const called = [...skills.values()].map(({ name, description }) => ({
    usage: `/${name}`,
    does: description,
  }))
  const sections = [`**Commands**\n\n${usageList(SLASH_COMMANDS)}`]
  if (called.length > 0) sections.push(`**Skills**\n\n${usageList(called)}`)
  return sections.join('\n\n')
}
