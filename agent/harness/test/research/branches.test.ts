/** The rules of branches: limits, levels, citations, and what happens when the mission ends. */
import { cancelMission, stopSession } from '@cairn/sessions'
import type { EventOf } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { treeLogs, finishWork, goal, wait } from '../coordination/tree-stage.ts'
import { expectSound, grading, untilMission, verdict } from '../missions/mission-stage.ts'
import { alice, call, say, setStage, type Stage } from '../turn/stage.ts'
import {
  BRANCHES,
  branchCall,
  cite,
  defineResearch,
  fetchPage,
  HARVESTED,
  report,
  scoring,
  withWeb,
} from './research-stage.ts'

async function errorsOf(stage: Stage, tool: string): Promise<string[]> {
  const logs = await treeLogs(stage.store, stage.session_id)
  return [...logs.values()].flat().flatMap(event => {
    if (event.type !== 'tool.result' || event.data.name !== tool) return []
    const { error } = JSON.parse(event.data.content) as { error?: string }
    return error === undefined ? [] : [error]
  })
}

/**
 * Promise 14.5: A branch cites only sources that it fetched, and each source records what it is cited for.
 */
test('a branch can cite only text of pages that it fetched', async () => {
  await using stage = await setStage(
    withWeb({
      scenario: {
        rules: [
          scoring({ '1': 50 }),
          ...grading([verdict('satisfied')]),
          {
            when: goal('Where'),
            steps: [
              cite('fetch-tides', 'the highest tides of the world'),
              fetchPage('gone', 'https://sea.example/gone'),
              cite('fetch-gone', 'There is no such page here.'),
              fetchPage('tides', 'https://sea.example/tides'),
              cite('fetch-tides', 'the lowest tides of the world'),
              cite('fetch-tides', 'tides of'),
              cite('fetch-tides', 'The  highest tides\nof the world are measured'),
              cite('https://sea.example/tides', 'The highest tides of the world are measured'),
              finishWork('In the Bay of Fundy [S1].'),
            ],
          },
          { when: HARVESTED, answer: report('In the Bay of Fundy [S1].') },
          { answer: { tool_calls: [branchCall({ question: 'Where are they?' }), wait] } },
        ],
      },
    }),
  )
  const { mission_id } = await defineResearch(stage)
  stage.start()
  await untilMission(stage, 'satisfied')
  await expectSound(stage)
  expect(await errorsOf(stage, 'cite')).toEqual([
    expect.stringContaining('no web_fetch call of this session has the id or URL "fetch-tides"'),
    expect.stringContaining('returned status 404 and cannot be cited'),
    expect.stringContaining('the quote does not occur in the text fetched from https://sea.example/tides'),
    expect.stringContaining('at least 3 are required'),
  ])
  // Cited by call id and by URL, the same passage is one source.
  expect(await stage.store.research.sources(mission_id)).toMatchObject([
    { number: 1, branch_key: '1', fetch_call_id: 'fetch-tides', title: 'Tides' },
  ])
})

test('limits branches in parallel and in total, and starts none after the level stop', async () => {
  const three = [1, 2, 3].map(n => ({ question: `Look ${n}` }))
  await using stage = await setStage({
    scenario: {
      rules: [
        scoring({ '1': 1, '2': 2, '3': 3 }),
        ...grading([verdict('satisfied')]),
        { when: goal('Look'), answer: finishWork('Nothing there.') },
        {
          when: HARVESTED,
          steps: [
            { tool_calls: [branchCall({ question: 'Look 4' })] },
            report('Nothing, as it seems.'),
            report('Nothing, as it seems [S1].'),
            say('There is nothing to report.'),
          ],
        },
        {
          steps: [
            { tool_calls: [branchCall(...three, { question: 'Look 4' })] },
            { tool_calls: [branchCall({ question: 'Look 1', parent_key: '7' })] },
            { tool_calls: [branchCall({ question: 'Look 1' }, { question: 'look  1' })] },
            { tool_calls: [branchCall(...three), wait] },
          ],
        },
      ],
    },
  })
  await defineResearch(stage, { max_parallel: 3 }, { levels: { warn: 1, shift: 2, stop: 3 } })
  stage.start()
  await untilMission(stage, 'satisfied')
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(await errorsOf(stage, 'research_branch')).toEqual([
    expect.stringContaining('at most 3 branches can run at a time, and 0 are running'),
    expect.stringContaining('no harvested branch "7"; omit parent_key'),
    expect.stringContaining('two of the goals are the same'),
    expect.stringContaining('3 branches in a row added nothing, so no more can start'),
  ])
  const converged = log.find(
    (event): event is EventOf<'research.converged'> => event.type === 'research.converged',
  )
  expect(converged?.data).toMatchObject({ level: 'stop', consecutive_non_improving: 3, best_score: 3 })
  expect(await errorsOf(stage, 'research_report')).toHaveLength(2)
})

test('after a shift the next branch must start in another direction', async () => {
  const parent = { question: 'Look 3', parent_key: '1' }
  await using stage = await setStage({
    scenario: {
      rules: [
        { ...scoring({ '1': 1, '2': 2 }), when: { schema: 'branch_scores', user: 'Look 1' } },
        scoring({ '3': 90, '3.1': 90, '1.1': 90 }),
        ...grading([verdict('satisfied')]),
        { when: goal('Look'), answer: finishWork('There.') },
        { when: { user: '^\\[Findings[^]*Look 3' }, answer: say('Enough.') },
        {
          when: HARVESTED,
          steps: [
            { tool_calls: [branchCall(parent)] },
            { tool_calls: [branchCall({ question: 'Look elsewhere' }, parent), wait] },
          ],
        },
        { answer: { tool_calls: [branchCall({ question: 'Look 1' }, { question: 'Look 2' }), wait] } },
      ],
    },
  })
  await defineResearch(stage, {}, { levels: { warn: 1, shift: 2, stop: 9 } })
  stage.start()
  await untilMission(stage, 'satisfied')
  await expectSound(stage)
  expect(await errorsOf(stage, 'research_branch')).toEqual([
    expect.stringContaining('the next one must start in another direction, without parent_key'),
  ])
})

test('a failed branch is harvested and counts, and one that ends after a cancel has no score', async () => {
  await using stage = await setStage(
    withWeb({
      scenario: {
        rules: [
          scoring({}),
          ...BRANCHES,
          { when: goal('Hang'), answer: call('hang', 'on') },
          { when: HARVESTED, answer: say('I have read it.') },
          { answer: { tool_calls: [branchCall({ question: 'Who fails here?' }, { question: 'Hang on' })] } },
        ],
      },
    }),
  )
  const mission = await defineResearch(stage)
  stage.start()
  const first = await stage.next('research.harvested')
  expect(first.data).toMatchObject({ folded: ['1'], scores: {} })
  expect(first.data.digest).toContain('Branch 1 (failed): Who fails here?\n')
  await stage.until(log => log.filter(({ type }) => type === 'llm.response').length >= 2)
  await cancelMission(stage.deps, mission, alice, { reason: null, cascade_to_workers: false })
  const links = await stage.store.links.children(stage.session_id, { open: true })
  await stopSession(stage.deps, links[0]?.child_id ?? '')
  const second = await stage.next('research.harvested', 2)
  expect(second.data).toMatchObject({ folded: ['2'], scores: {} })
  await stage.until(log => log.at(-1)?.type === 'session.complete')
  await expectSound(stage)
})

test('/research rejects what the agent cannot do, and starts research that it can', async () => {
  await using stage = await setStage({
    agent: { workers: { max_open: 3 } },
    scenario: { rules: [{ answer: say('Well.') }] },
  })
  stage.start()
  const reply = async (text: string, nth: number): Promise<string> => {
    await stage.send(text)
    const events = await stage.until(
      log => log.filter(({ data }) => 'command_event_id' in data).length >= nth,
    )
    const found = events.filter((event): event is EventOf<'llm.response'> => event.type === 'llm.response')
    return (
      found.filter(({ data }) => data.command_event_id !== undefined)[nth - 1]?.data.message.content ?? ''
    )
  }
  expect(await reply('/research How high?\nMetric: cat value.txt', 1)).toContain('Invalid metric')
  // This stage has no terminal.
  expect(await reply('/research How high?\nMetric: max cat value.txt', 2)).toContain(
    'mode metric runs a command, and the terminal is not available',
  )
  expect(await reply('/research How high?\nRubric: a number', 3)).toContain('Research started.')
  expect((await stage.next('research.defined')).data).toMatchObject({ mode: 'report' })
})
