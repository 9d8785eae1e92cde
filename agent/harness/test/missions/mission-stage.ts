/** A mission on the stage: its scenario, and what is expected of every tree. */
import type { Mission } from '@cairn/log'
import type { SessionEvent } from '@cairn/protocol'
import { defineMission, type MissionInput } from '@cairn/sessions'
import { checkHistory, checkTree } from '@cairn/verify'
import { expect } from 'vitest'
import type { ScenarioInput } from '@cairn/scripted-model'
import { treeLogs, finishWork, goal, OUTCOME, spawn, wait } from '../coordination/tree-stage.ts'
import { say, type Stage } from '../turn/stage.ts'

export const verdict = (result: string, feedback = '', explanation = 'because') => ({
  text: JSON.stringify({ result, explanation, feedback }),
})
/** What the evaluator says, one verdict after the other; which is next follows from what it is shown. */
export const grading = (verdicts: readonly object[]): ScenarioInput['rules'] =>
  verdicts
    .map((answer, before) => ({
      when: {
        schema: 'outcome_verdict',
        ...(before === 0 ? {} : { user: `Earlier verdicts:[^]*\\n${before}\\. needs_revision:` }),
      },
      answer,
    }))
    .toReversed()
export const CONTINUED = { user: '^The mission is not complete yet' }

/** Two workers in the first round, one in the second, and verdicts in turn. */
export const twoRounds = (verdicts: readonly object[]): ScenarioInput => ({
  rules: [
    ...grading(verdicts),
    { when: goal('look'), answer: finishWork('There are three.') },
    { when: goal('count'), answer: finishWork('I counted three.') },
    { when: goal('write'), answer: finishWork('It is written in report.md.') },
    { when: { user: '^\\[Worker [^]*It is written' }, answer: say('The report is written: report.md.') },
    { when: OUTCOME, answer: say('There are three.') },
    { when: CONTINUED, answer: { tool_calls: [spawn('write the report'), wait] } },
    { answer: { tool_calls: [spawn('look at it'), spawn('count them'), wait] } },
  ],
})

export const define = (stage: Stage, more: Partial<MissionInput> = {}): Promise<Mission> =>
  defineMission(stage.deps, stage.session_id, {
    description: 'Count them and write a report',
    rubric: 'report.md says how many there are',
    ...more,
  })

export const missionRow = async (stage: Stage): Promise<Mission> => {
  const { missions } = await stage.store.missions.list({
    org_id: 'org',
    session_id: stage.session_id,
    limit: 1,
  })
  return missions[0]!
}

/** Waits until the mission is in that state and its coordinator rests. */
export async function untilMission(stage: Stage, status: Mission['status']): Promise<Mission> {
  await expect
    .poll(async () => [(await missionRow(stage)).status, (await stage.session()).lease], { timeout: 20_000 })
    .toEqual([status, null])
  return missionRow(stage)
}

/** Every log of the tree holds together, and the row says what the log says. */
export async function expectSound(stage: Stage): Promise<Map<string, SessionEvent[]>> {
  const logs = await treeLogs(stage.store, stage.session_id)
  for (const [id, log] of logs) expect([id, checkHistory(log, { settled: true })]).toEqual([id, []])
  expect(checkTree(logs)).toEqual([])
  expect(await stage.store.check()).toEqual([])
  return logs
}
