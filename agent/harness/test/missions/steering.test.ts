/** Operators and the evaluator act at the same time, in both orders and on both stores: the first counts. */
import { type LogStore, type Mission, openPostgresStore, type Timer } from '@cairn/log'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { AppError } from '@cairn/protocol'
import {
  archiveSession,
  cancelMission,
  fireTimer,
  pauseMission,
  pauseSession,
  resumeMission,
  resumeSession,
  stopSession,
} from '@cairn/sessions'
import { describe, expect, test } from 'vitest'
import type { ScenarioInput } from '@cairn/scripted-model'
import { goal, spawn, wait } from '../coordination/tree-stage.ts'
import { alice, say, setStage, type Stage, type StageOptions, typesOf } from '../turn/stage.ts'
import { define, expectSound, grading, missionRow, untilMission, verdict } from './mission-stage.ts'

type Open = (options: Omit<StageOptions, 'store'>) => Promise<Stage>
const STORES: Record<string, Open> = {
  'the embedded store': setStage,
  async Postgres(options) {
    const { place, remove } = await borrowPostgresPlace()
    const stage = await setStage({ ...options, store: await openPostgresStore({ url: place }) })
    const dispose = stage[Symbol.asyncDispose].bind(stage)
    return {
      ...stage,
      async [Symbol.asyncDispose]() {
        await dispose()
        await remove()
      },
    }
  },
}

/** The requests of one coordinator alternate: an answer, its verdict, the next answer, its verdict. */
const alone = (...verdicts: object[]): ScenarioInput => ({
  rules: [
    ...grading(verdicts),
    { answer: { tool_calls: [{ name: 'look', arguments: { value: 'once' } }] }, when: { step: 0 } },
    { answer: say('Done.') },
  ],
})
/** The answer, after a call. */
const ANSWER = 2
const VERDICT = 3
const NEXT_ANSWER = 4

type Act = (stage: Stage, mission: Mission) => Promise<unknown>
const pause: Act = (stage, mission) => pauseMission(stage.deps, mission, alice, 'lunch')
const cancel: Act = (stage, mission) =>
  cancelMission(stage.deps, mission, alice, { reason: 'no longer', cascade_to_workers: true })
const stop: Act = (stage, mission) => stopSession(stage.deps, mission.session_id)
const resume = async (stage: Stage): Promise<Mission> =>
  resumeMission(stage.deps, await missionRow(stage), alice, 'It is after lunch.')

/** Acts while the server delays the answer to the nth request. */
async function actDuring(open: Open, nth: number, act: Act, ...verdicts: object[]): Promise<Stage> {
  const gate = Promise.withResolvers<undefined>()
  const stage = await open({
    scenario: alone(...verdicts),
    hold: request => (request === nth ? gate.promise : undefined),
  })
  const mission = await define(stage)
  stage.start()
  await stage.server.requested(nth)
  await act(stage, mission)
  gate.resolve(undefined)
  return stage
}
const missionTypes = async (stage: Stage): Promise<string[]> =>
  typesOf(await stage.events()).filter(type => /^mission\.|^session\./.test(type))
const NEXT = verdict('needs_revision', 'more')

describe.each(Object.entries(STORES))('on %s', (_name, open) => {
  test('a pause before grading stops the turn, and the resumed mission runs to its end', async () => {
    await using stage = await actDuring(open, ANSWER, pause, verdict('satisfied'))
    expect((await untilMission(stage, 'paused')).state).toMatchObject({
      reason: 'lunch',
      decided_by: { kind: 'user', id: alice.id },
    })
    expect(await missionTypes(stage)).toEqual(['mission.defined', 'mission.paused', 'session.stopped'])
    await resume(stage)
    await untilMission(stage, 'satisfied')
    expect(await missionTypes(stage)).toEqual([
      'mission.defined',
      'mission.paused',
      'session.stopped',
      'mission.resumed',
      'mission.evaluation.start',
      'mission.evaluation.end',
      'session.complete',
    ])
    const said = (await stage.events()).flatMap(event =>
      event.type === 'user.message' && event.data.synthetic === 'mission_resumed' ? [event.data.content] : [],
    )
    expect(said).toEqual([expect.stringContaining('It is after lunch.')])
    await expectSound(stage)
  })

  /**
   * Promise 14.5: A pause during grading keeps the verdict and starts no round; a pause before grading stops
   * the turn.
   */
  test('a pause during grading keeps the verdict and starts no round before the resume', async () => {
    await using stage = await actDuring(open, VERDICT, pause, NEXT, verdict('satisfied'))
    await expect.poll(async () => (await missionRow(stage)).iteration).toBe(1)
    await untilMission(stage, 'paused')
    expect(await missionTypes(stage)).toEqual([
      'mission.defined',
      'mission.evaluation.start',
      'mission.paused',
      'mission.evaluation.end',
      'session.complete',
    ])
    await resume(stage)
    expect((await untilMission(stage, 'satisfied')).iteration).toBe(2)
    expect((await missionTypes(stage)).slice(5)).toEqual([
      'session.resume',
      'mission.resumed',
      'mission.evaluation.start',
      'mission.evaluation.end',
      'session.complete',
    ])
    await expectSound(stage)
  })

  test('a satisfied verdict ends a mission that was paused during grading', async () => {
    await using stage = await actDuring(open, VERDICT, pause, verdict('satisfied'))
    await untilMission(stage, 'satisfied')
    await expect(resume(stage)).rejects.toMatchObject({
      code: 'wrong_state',
      message: 'Cannot resume a mission that is satisfied: it must be paused or blocked.',
    })
    await expectSound(stage)
  })

  test('a pause after the verdict stops the round that it started', async () => {
    await using stage = await actDuring(open, NEXT_ANSWER, pause, NEXT, verdict('satisfied'))
    await untilMission(stage, 'paused')
    expect((await missionTypes(stage)).slice(-3)).toEqual([
      'mission.continuation',
      'mission.paused',
      'session.stopped',
    ])
    await expectSound(stage)
  })

  test.each([
    ['before', ANSWER, []],
    ['during', VERDICT, ['mission.evaluation.start']],
    ['after', NEXT_ANSWER, ['mission.evaluation.start', 'mission.evaluation.end', 'mission.continuation']],
  ] as const)('a cancel %s grading ends the mission without further grading', async (_when, nth, before) => {
    await using stage = await actDuring(open, nth, cancel, NEXT, verdict('satisfied'))
    const mission = await untilMission(stage, 'cancelled')
    expect(mission.ended_at).not.toBeNull()
    expect(await missionTypes(stage)).toEqual([
      'mission.defined',
      ...before,
      'mission.cancelled',
      'session.stopped',
    ])
    await expect(resume(stage)).rejects.toMatchObject({
      code: 'wrong_state',
      message: 'Cannot resume a mission that is cancelled: it must be paused or blocked.',
    })
    await expectSound(stage)
  })

  test.each([
    ['before', ANSWER],
    ['during', VERDICT],
  ] as const)(
    'a stop of the coordinator %s grading pauses the mission, and the resumed mission is graded',
    async (_when, nth) => {
      await using stage = await actDuring(open, nth, stop, verdict('satisfied'))
      await untilMission(stage, 'paused')
      expect((await missionTypes(stage)).slice(-2)).toEqual(['mission.paused', 'session.stopped'])
      await resume(stage)
      await untilMission(stage, 'satisfied')
      await expectSound(stage)
    },
  )

  test('a concurrent pause and cancel each succeed or are rejected, and the mission is cancelled', async () => {
    await using stage = await open({ scenario: { rules: [{ answer: { hang: true } }] } })
    const mission = await define(stage)
    stage.start()
    await stage.server.requested(1)
    const done = await Promise.allSettled([
      pause(stage, mission),
      cancel(stage, mission),
      pause(stage, mission),
    ])
    for (const each of done) if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(AppError)
    await untilMission(stage, 'cancelled')
    await expectSound(stage)
  })
})

const leads: ScenarioInput = {
  rules: [
    { when: goal('dig'), answer: { hang: true } },
    { answer: { tool_calls: [spawn('dig a well'), wait] } },
  ],
}
async function withWorker(): Promise<{ stage: Stage; mission: Mission; worker: string }> {
  const stage = await setStage({ scenario: leads })
  const mission = await define(stage)
  stage.start()
  // The coordinator, and the worker that hangs.
  await stage.server.requested(2)
  const { data } = await stage.next('worker.spawned')
  await expect.poll(async () => (await stage.session()).lease).toBeNull()
  return { stage, mission, worker: data.worker_id }
}
/** Archives the session: a harness that stops would wait for a model that hangs. */
const endWork = async (stage: Stage): Promise<void> => archiveSession(stage.deps, await stage.session())
const statusOf = async (stage: Stage, id: string) => (await stage.store.sessions.get(id))?.status

test('a pause pauses the workers, and a resume continues them', async () => {
  const { stage, mission, worker } = await withWorker()
  await using _ = stage
  await pause(stage, mission)
  expect(await statusOf(stage, worker)).toBe('paused')
  expect(typesOf(await stage.events())).not.toContain('session.stopped')
  await resume(stage)
  expect(await statusOf(stage, worker)).toBe('active')
  expect((await missionRow(stage)).status).toBe('active')
  await endWork(stage)
})

/** Promise 14.5: A worker of a paused mission resumes only with its mission. */
test('a worker of a paused mission resumes only with the mission, whatever its session does', async () => {
  const { stage, mission, worker } = await withWorker()
  await using _ = stage
  await pause(stage, mission)
  await expect(resumeSession(stage.deps, worker)).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining("The parent session's mission is paused"),
  })
  await pauseSession(stage.deps, stage.session_id)
  await resumeSession(stage.deps, stage.session_id)
  expect(await statusOf(stage, worker)).toBe('paused')
  await resume(stage)
  expect(await statusOf(stage, worker)).toBe('active')
  await endWork(stage)
})

test('cancelling the mission of a paused session leaves its workers paused until the session resumes', async () => {
  const { stage, mission, worker } = await withWorker()
  await using _ = stage
  await pauseSession(stage.deps, stage.session_id)
  await cancelMission(stage.deps, mission, alice, { reason: null, cascade_to_workers: false })
  expect(await statusOf(stage, worker)).toBe('paused')
  await resumeSession(stage.deps, stage.session_id)
  expect(await statusOf(stage, worker)).toBe('active')
  await endWork(stage)
})

test('a pause while the time limit fires keeps the mission paused and sends no message', async () => {
  await using stage = await setStage({ scenario: leads })
  const mission = await define(stage, { budget: { max_minutes: 0.0001 } })
  let timers: Timer[] = []
  await expect
    .poll(async () => (timers = await stage.store.timers.claim('test', 10, 1000)), { timeout: 20_000 })
    .toHaveLength(1)
  let isPaused = false
  const missions: LogStore['missions'] = {
    ...stage.store.missions,
    async get(id) {
      const found = await stage.store.missions.get(id)
      if (!isPaused) {
        isPaused = true
        await pause(stage, mission)
      }
      return found
    },
  }
  const store = { ...stage.store, missions }
  for (const timer of timers) await fireTimer({ ...stage.deps, store }, timer)
  expect((await missionRow(stage)).status).toBe('paused')
  const said = (await stage.events()).flatMap(event =>
    event.type === 'user.message' ? [event.data.synthetic] : [],
  )
  expect(said).toEqual(['mission_kickoff'])
})

/**
 * Promise 14.5: A cancelled mission is not graded, and the cancel ends its workers unless they are to
 * continue.
 */
test('a cancel ends the workers with the mission, or without cascade lets them continue as plain workers', async () => {
  for (const cascade_to_workers of [true, false]) {
    const { stage, mission, worker } = await withWorker()
    await using _ = stage
    if (!cascade_to_workers) await pause(stage, mission)
    await cancelMission(stage.deps, mission, alice, { reason: null, cascade_to_workers })
    const [link] = await stage.store.links.children(stage.session_id)
    expect([link?.child_id, link?.status, link?.cause]).toEqual(
      cascade_to_workers ? [worker, 'failed', 'parent'] : [worker, 'open', null],
    )
    expect(await statusOf(stage, worker)).toBe(cascade_to_workers ? 'completed' : 'active')
    // No session is left that would end the coordinator's wait.
    expect(typesOf(await stage.events()).slice(-2)).toEqual(
      cascade_to_workers ? ['mission.cancelled', 'session.stopped'] : ['mission.paused', 'mission.cancelled'],
    )
    await endWork(stage)
  }
})

test('archiving a coordinator cancels its mission', async () => {
  const { stage, mission, worker } = await withWorker()
  await using _ = stage
  await archiveSession(stage.deps, await stage.session())
  expect(await missionRow(stage)).toMatchObject({ mission_id: mission.mission_id, status: 'cancelled' })
  expect(await statusOf(stage, worker)).toBe('archived')
  expect(typesOf(await stage.events())).toContain('mission.cancelled')
})

test('a message to the coordinator of a paused mission is answered and starts no round', async () => {
  await using stage = await actDuring(setStage, ANSWER, pause, verdict('satisfied'))
  await untilMission(stage, 'paused')
  await stage.send('how is it going?')
  await stage.until(events => events.at(-1)?.type === 'session.complete')
  expect(typesOf(await stage.events())).not.toContain('mission.evaluation.start')
  expect((await missionRow(stage)).status).toBe('paused')
  await expectSound(stage)
})
