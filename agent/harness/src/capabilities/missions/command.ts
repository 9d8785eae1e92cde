/** The effect of a `/mission` command: events and rows for the commit of its reply, and the reply. */
import {
  type EventData,
  formatCost,
  formatTokens,
  oneLine,
  type ResearchInput,
  type ResearchSettings,
} from '@cairn/protocol'
import {
  composeCancelMission,
  composeMission,
  composePause,
  composeResume,
  DEFAULT_RUBRIC,
  derivedId,
  type GoalAction,
  readTree,
  missionObstacle,
  researchProblem,
  researchSettings,
  resumeObstacle,
  unpricedModel,
} from '@cairn/sessions'
import type { Mission, MissionCommand, SlashMessage } from '@cairn/state'
import type { TurnContext } from '../../turn/context.ts'
import type { Append } from '../../turn/session-log.ts'

export type MissionAction = GoalAction & { append: Append }
type Define = Extract<MissionCommand, { action: 'define' }>

const says = (reply: string): MissionAction => ({ before: [], reply, after: [], append: {} })

export async function actOnMission(
  turn: TurnContext,
  command: MissionCommand,
  message: SlashMessage,
): Promise<MissionAction> {
  if (command.action === 'define') return define(turn, command, message)
  const { mission } = turn.log.position()
  if (command.action === 'status')
    return says(mission === null ? 'No mission is set. Start one with /mission <text>.' : report(mission))
  const { store, clock, newId, log } = turn
  const deps = { store, now: clock.now, newId }
  const { tree, expect } = await readTree(deps, log.session().id)
  const row = await store.missions.current(tree.session.id)
  if (row === null) return says('No mission is active. Start one with /mission <text>.')
  const append = (part: { rows: Append['rows']; also: Append['also'] }): Append => ({
    rows: [expect, ...(part.rows ?? [])],
    ...(part.also === undefined ? {} : { also: part.also }),
  })
  switch (command.action) {
    case 'pause': {
      if (row.status !== 'active') return says(`The mission is already ${row.status}.`)
      const part = await composePause(deps, tree, row, null, command.text)
      return {
        before: part.events,
        reply: 'Mission paused, including its workers. Use /mission resume to continue.',
        after: [],
        append: append(part),
      }
    }
    case 'resume': {
      if (row.status === 'active') return says('The mission is already active.')
      const problem = resumeObstacle(row)
      if (problem !== null) return says(problem)
      const part = await composeResume(deps, tree, row, null, command.text ?? undefined)
      const [resumed, ...told] = part.events
      return {
        before: resumed === undefined ? [] : [resumed],
        reply: 'Mission resumed.',
        after: told,
        append: append(part),
      }
    }
    case 'cancel': {
      const { text: reason, cascade_to_workers } = command
      const part = await composeCancelMission(deps, tree, row, null, { reason, cascade_to_workers })
      return {
        before: part.events,
        reply: cascade_to_workers
          ? 'Mission cancelled, including its workers.'
          : 'Mission cancelled. Its workers continue.',
        after: [],
        append: append(part),
      }
    }
  }
}

function define(turn: TurnContext, command: Define, message: SlashMessage): MissionAction {
  const { log, setup, config } = turn
  const session = log.session()
  const problem = missionObstacle(session, log.position()) ?? budgetProblem(command) ?? metricProblem(command)
  if (problem !== null) return says(problem)
  const research = command.research === undefined ? null : researchFor(turn, command.research)
  if (research !== null && 'problem' in research) return says(research.problem)
  const { max_iterations, budget: usual } = setup.agent.missions
  const budget = { ...usual, ...command.budget }
  const models = [setup.model, setup.mission_evaluator_model]
  const unpriced = unpricedModel(budget, config.models.catalog, models)
  if (unpriced !== null)
    return says(`Model ${unpriced} has no price in models.catalog, so a budget in USD cannot be enforced.`)
  const { defined, kickoff, rows, mission } = composeMission(
    session,
    derivedId(session.id, String(message.event_id), 'mission'),
    {
      description: command.description,
      rubric: command.rubric ?? DEFAULT_RUBRIC,
      max_iterations,
      ...(Object.keys(budget).length === 0 ? {} : { budget }),
      ...(research === null ? {} : { research }),
    },
  )
  return {
    before: defined,
    after: [{ ...kickoff, data: { ...kickoff.data, ...carriedBy(message) } }],
    reply:
      `${research === null ? 'Mission' : 'Research'} started. It is graded after every round, at ` +
      `most ${mission.definition.max_iterations} ` +
      `times.\n\nRubric:\n\n${mission.definition.rubric}`,
    append: { rows, expect_no_work_after: log.position().last_id },
  }
}

/** Files and images attached to the command. */
const carriedBy = ({
  attachments,
  images,
}: SlashMessage): Pick<EventData<'user.message'>, 'attachments' | 'images'> => ({
  ...(attachments ? { attachments } : {}),
  ...(images ? { images } : {}),
})

const budgetProblem = ({ unread }: Define): string | null =>
  unread.length === 0
    ? null
    : `Invalid budget: ${unread.join(', ')}. Write it as "Budget: 500k tokens | $5 | 2h".`

const metricProblem = ({ unread_metric }: Define): string | null =>
  unread_metric === undefined
    ? null
    : `Invalid metric: ${unread_metric}. Write max if a higher number is better, or min if a lower one is, ` +
      'and the command: "Metric: max ./score.sh".'

function researchFor(
  { setup, config, tools }: TurnContext,
  input: ResearchInput,
): ResearchSettings | { problem: string } {
  const hasTerminal = tools().some(({ name }) => name === 'terminal')
  const found = researchProblem(setup.agent, input, hasTerminal)
  return found === null
    ? researchSettings(input, config.research)
    : { problem: `The research cannot start: ${found.message}.` }
}

function report({
  status,
  description,
  rubric,
  iteration,
  max_iterations,
  verdicts,
  spending,
}: Mission): string {
  const last = verdicts.at(-1)
  return [
    `Mission (${status.replaceAll('_', ' ')}): ${description}`,
    '',
    `- Rounds: ${iteration} of at most ${max_iterations}`,
    ...(last
      ? [`- Last verdict: ${last.result.replaceAll('_', ' ')}. ${oneLine(last.explanation, 1000)}`]
      : []),
    `- Spent: ${formatTokens(spending.tokens)} tokens, ${formatCost(spending.cost_usd)}`,
    '',
    `Rubric:\n\n${rubric}`,
  ].join('\n')
}
