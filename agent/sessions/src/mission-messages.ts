/** Messages of the server to a mission's coordinator. */
import type { EventDraft, ResearchSettings } from '@cairn/protocol'
import type { Mission } from '@cairn/state'
import { syntheticMessage } from './message-events.ts'

type UserMessage = EventDraft<'user.message'>
type MissionSubject = Pick<Mission, 'mission_id' | 'description' | 'rubric'>

export const missionKickoff = ({ mission_id, description, rubric }: MissionSubject): UserMessage =>
  syntheticMessage(
    'mission_kickoff',
    [
      `You lead this mission:\n${description}`,
      'Each round of work is graded by this rubric, from what the work shows and not from what is said ' +
        `about it:\n${rubric}`,
      'Split the work among workers where that helps, check what they bring back, and end the round with ' +
        'an answer that names the files and results that prove it.',
    ].join('\n\n'),
    { mission_id },
  )

/** The tools describe what a branch writes and what happens with it (harness/src/research). */
export const researchKickoff = (
  { mission_id, description, rubric }: MissionSubject,
  { mode, metric, max_branches, max_parallel }: ResearchSettings,
): UserMessage =>
  syntheticMessage(
    'mission_kickoff',
    [
      `You lead this research:\n${description}`,
      `Divide it among branches with research_branch: at most ${max_parallel} at a time and ` +
        `${max_branches} in all, each with a question of its own. You are told what they found, and a ` +
        'score that others give them, before your next step; then branch further where it pays, below the ' +
        'best ones or elsewhere.',
      mode === 'report'
        ? 'Branches cite what they fetched, as sources S1, S2 and so on. End with research_report: every ' +
          'claim with the marker of its source, such as [S3], and quotations word for word.'
        : `Each branch works in a copy of your files and is measured by this command:\n${metric?.command}\n` +
          `A ${metric?.direction === 'min' ? 'smaller' : 'greater'} number is better. Take over what is ` +
          'better with research_adopt: later branches begin from there. End with research_report.',
      `The report is graded by this rubric:\n${rubric}`,
    ].join('\n\n'),
    { mission_id },
  )

export const missionContinuation = (mission: Mission): UserMessage =>
  syntheticMessage(
    'mission_continuation',
    [
      `The mission is not reached yet (round ${mission.iteration} of at most ${mission.max_iterations}): ` +
        mission.description,
      ...lastFeedback(mission),
      'Go on with it.',
    ].join('\n\n'),
    { mission_id: mission.mission_id },
  )

export const missionResumption = (mission: Mission, note: string | undefined): UserMessage =>
  syntheticMessage(
    'mission_resumed',
    [
      `Go on with the mission: ${mission.description}`,
      ...lastFeedback(mission),
      ...(note === undefined ? [] : [`The operator says:\n${note}`]),
    ].join('\n\n'),
    { mission_id: mission.mission_id },
  )

export const missionOutOfTime = (mission_id: string): UserMessage =>
  syntheticMessage(
    'mission_deadline',
    'The time of the mission is up: its workers were stopped, and this round is graded as it stands.',
    { mission_id },
  )

function lastFeedback({ verdicts, rubric }: Mission): string[] {
  const feedback = verdicts.at(-1)?.feedback ?? ''
  return feedback === ''
    ? [`It is graded by this rubric:\n${rubric}`]
    : [`What the evaluator says is missing:\n${feedback}`]
}
