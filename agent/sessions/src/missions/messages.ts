/** Messages of the server to a mission's coordinator. */
import type { EventDraft, ResearchSettings } from '@cairn/protocol'
import type { Mission } from '@cairn/state'
import { syntheticMessage } from '../events/messages.ts'

type UserMessage = EventDraft<'user.message'>
type MissionSubject = Pick<Mission, 'mission_id' | 'description' | 'rubric'>

export const missionKickoff = ({ mission_id, description, rubric }: MissionSubject): UserMessage =>
  syntheticMessage(
    'mission_kickoff',
    [
      `You lead this mission:\n${description}`,
      'Each round of work is graded by this rubric, based on what the work shows and not on ' +
        `claims about it:\n${rubric}`,
      'Split the work among workers where that helps, check what they bring back, and end the round with ' +
        'an answer that names the files and results that prove it.',
    ].join('\n\n'),
    { mission_id },
  )

/** The tools describe what a branch writes and what happens with it (harness/src/capabilities/research). */
export const researchKickoff = (
  { mission_id, description, rubric }: MissionSubject,
  { mode, metric, max_branches, max_parallel }: ResearchSettings,
): UserMessage =>
  syntheticMessage(
    'mission_kickoff',
    [
      `You lead this research:\n${description}`,
      `Divide it among branches with research_branch: at most ${max_parallel} at a time and ` +
        `${max_branches} in total, each with its own question. Before your next step you receive ` +
        'their findings and a score by other reviewers; then branch further where it pays off, ' +
        'below the best branches or elsewhere.',
      mode === 'report'
        ? 'Branches cite what they fetched as sources S1, S2 and so on. ' +
          'End with research_report: mark every claim with its source, such as [S3], and quote ' +
          'word for word.'
        : 'Each branch works in a copy of your files and is measured by this command:\n' +
          `${metric?.command}\nA ${metric?.direction === 'min' ? 'smaller' : 'greater'} number is ` +
          'better. Adopt what is better with research_adopt: later branches start from there. ' +
          'End with research_report.',
      `The report is graded by this rubric:\n${rubric}`,
    ].join('\n\n'),
    { mission_id },
  )

export const missionContinuation = (mission: Mission): UserMessage =>
  syntheticMessage(
    'mission_continuation',
    [
      `The mission is not complete yet (round ${mission.iteration} of at most ` +
        `${mission.max_iterations}): ${mission.description}`,
      ...lastFeedback(mission),
      'Continue.',
    ].join('\n\n'),
    { mission_id: mission.mission_id },
  )

export const missionResumption = (mission: Mission, note: string | undefined): UserMessage =>
  syntheticMessage(
    'mission_resumed',
    [
      `Continue working on the mission: ${mission.description}`,
      ...lastFeedback(mission),
      ...(note === undefined ? [] : [`Note from the operator:\n${note}`]),
    ].join('\n\n'),
    { mission_id: mission.mission_id },
  )

export const missionOutOfTime = (mission_id: string): UserMessage =>
  syntheticMessage(
    'mission_deadline',
    'The mission reached its time limit: its workers were stopped, and this round is graded as it is.',
    { mission_id },
  )

function lastFeedback({ verdicts, rubric }: Mission): string[] {
  const feedback = verdicts.at(-1)?.feedback ?? ''
  return feedback === ''
    ? [`It is graded by this rubric:\n${rubric}`]
    : [`The evaluator's feedback on what is missing:\n${feedback}`]
}
