/**
 * Research in mode report: branches cite what they fetched, and a report is accepted only if its sources
 * support it.
 */
import type { EventOf } from '@cairn/protocol'
import { viewResearch } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { expectSound, untilMission, verdict } from '../missions/mission-stage.ts'
import { setStage, typesOf } from '../turn/stage.ts'
import { defineResearch, FUNDY, HARVESTED, report, reportRules, withWeb } from './research-stage.ts'

const FABRICATED = 'Experts agree: "the water there never rises by more than two metres at all" [S1].'
const GOOD = `In the Bay of Fundy "where ${FUNDY}" [S1, S2].\n\nThe moon makes them [S2].\n\nThat is all.`

/**
 * Promise 14.5: The coordinator receives each research branch's result once, with a score that the branch did
 * not assign.
 */
test('research runs from branches through their harvest to a graded report, in this order of events', async () => {
  await using stage = await setStage(
    withWeb({
      scenario: {
        rules: reportRules({ when: HARVESTED, steps: [report(`${FABRICATED}\n\nSee [S9].`), report(GOOD)] }, [
          verdict('satisfied'),
        ]),
      },
    }),
  )
  await defineResearch(stage)
  stage.start()
  const mission = await untilMission(stage, 'satisfied')
  const log = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(
    typesOf(log).filter(type => /^(mission|research|worker|turn|session|artifact)\./.test(type)),
  ).toEqual([
    'mission.defined',
    'research.defined',
    'worker.spawned',
    'worker.spawned',
    'worker.complete',
    'worker.complete',
    'research.harvested',
    'artifact.created',
    'mission.evaluation.start',
    'mission.evaluation.end',
    'turn.summary',
    'session.complete',
  ])
  const harvested = log.find(
    (event): event is EventOf<'research.harvested'> => event.type === 'research.harvested',
  )
  expect(harvested?.data.folded.toSorted()).toEqual(['1', '2'])
  expect(harvested?.data.scores).toEqual({ '1': 80, '2': 60 })
  expect(harvested?.data.digest).toContain('80 of 100: It is worth 80.')
  expect(harvested?.data.input_tokens).toBeGreaterThan(0)
  // The conversation has the harvest of a branch and nothing else of it.
  expect(JSON.stringify(stage.server.requests.at(-1)?.body)).not.toContain('[Worker')

  const results = log.flatMap(event =>
    event.type === 'tool.result' && event.data.name === 'research_report' ? [event.data.content] : [],
  )
  expect(results).toHaveLength(2)
  const refused = JSON.parse(results[0] ?? '') as { error: string; problems: object[] }
  expect(refused.error).toMatch(/^Tool execution failed: report rejected/)
  expect(refused.problems).toEqual([
    {
      problem: 'this quotation does not occur there word for word',
      quotation: 'the water there never rises by more than two metres at all',
      in: expect.stringMatching(/^S1$/),
      right: expect.any(String),
    },
    { problem: 'unknown source S9', right: 'the sources are S1 to S2' },
  ])
  expect(JSON.parse(results[1] ?? '')).toMatchObject({
    title: 'Tides',
    sources: ['S1', 'S2'],
    paragraphs_without_marker: 1,
  })
  expect(mission.state.verdicts).toMatchObject([{ trigger: 'report', result: 'satisfied' }])

  const view = await viewResearch(stage.store, mission)
  expect(view.run).toMatchObject({ best_score: 80, consecutive_non_improving: 0, level: null })
  expect(view.branches).toMatchObject([
    { key: '1', status: 'complete', score: 80, improves: true, parent_key: null },
    { key: '2', status: 'complete', score: 60, improves: true },
  ])
  expect(view.sources.map(({ number, url }) => [number, url]).toSorted()).toHaveLength(2)
  const artifact = await stage.store.artifacts.get(stage.session_id, view.run.report?.artifact_id ?? '')
  expect(JSON.stringify(artifact?.spec)).toContain('## Sources')
})
