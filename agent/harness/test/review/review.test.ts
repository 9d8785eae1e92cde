/** The background review (contract 14.13; docs/review.md). */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { acknowledgeInbox, addMessage, createSession, pauseSession, respondInbox } from '@cairn/sessions'
import { emptySessionView, foldSessionView } from '@cairn/state'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { MAX_ENTRIES, memoryFile } from '../../src/capabilities/review/memory-file.ts'
import { alice, readLog, say, setStage, type Stage, typesOf } from '../turn/stage.ts'
import { FOUND, reviewedAgent, reviewScenario, SKILL } from './review-scenario.ts'

const fileOf = (stage: Stage): string => memoryFile(stage.dir, alice.id, 'assistant')
const itemsOf = async (stage: Stage) => (await stage.store.inbox.list({ org_id: 'org', limit: 50 })).items
const reviews = (stage: Stage) => stage.server.requests.filter(request => request.rule === 'review')
/** The system prompt of the last call that was not a review. */
const told = (stage: Stage): string =>
  String(stage.server.requests.findLast(request => request.rule !== 'review')?.body.messages[0]?.content)

test('a session is reviewed after its turns: the memory is written, and a skill is proposed', async () => {
  await using stage = await setStage({
    scenario: reviewScenario(),
    agent: reviewedAgent,
    config: {
      models: {
        default: 'demo/model',
        providers: { demo: { kind: 'scripted' } },
        catalog: { 'demo/model': { input: 10, output: 20 } },
      },
    },
  })
  const harness = stage.start({ runnerId: 'w1' })
  await stage.send('sow beans')
  const end = await stage.next('inbox.task_complete')
  await harness.idle()
  const events = await stage.events()
  expect(typesOf(events).slice(-4)).toEqual([
    'session.complete',
    'harness.wake',
    'inbox.action_required',
    'inbox.task_complete',
  ])
  const wake = events.findLast(event => event.type === 'harness.wake')
  expect(wake?.data).toEqual({ worker_id: 'w1', review_memory: true, review_skills: true })
  expect(end.data).toEqual({
    outcome: 'success',
    summary: `Remembered:\n- ${FOUND.memory.join('\n- ')}\nProposed the skill sow-beans.`,
    duration_seconds: expect.any(Number),
    session_title: 'Titled',
    review_wake_id: wake?.id,
    input_tokens: 200,
    output_tokens: 50,
    cost_usd: 0.003,
  })
  expect(readFileSync(fileOf(stage), 'utf8')).toBe(`# Memory\n\n- ${FOUND.memory.join('\n- ')}\n`)
  expect((await itemsOf(stage)).map(item => [item.kind, item.status, item.title])).toEqual([
    ['task_complete', 'pending', 'Session review finished'],
    ['action_required', 'pending', 'Proposed skill: sow-beans'],
  ])
  expect(await stage.session()).toMatchObject({
    status: 'completed',
    lease: null,
    input_tokens: events.reduce(
      (sum, event) => sum + (event.type === 'llm.response' ? event.data.input_tokens : 0),
      200,
    ),
  })
  expect(foldSessionView(emptySessionView, events)).toMatchObject({
    input_tokens: (await stage.session()).input_tokens,
  })
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(await stage.store.check()).toEqual([])
  expect((await acknowledgeInbox(stage.deps, (await itemsOf(stage))[0]!.id, alice)).status).toBe(
    'acknowledged',
  )
})

/** Promise 14.13: The next session of the same user, and of no other, reads the memory of a review. */
test('the next session of the same user, and of no other, reads the memory', async () => {
  await using stage = await setStage({ scenario: reviewScenario(), agent: reviewedAgent })
  const harness = stage.start()
  await stage.send('sow beans')
  await stage.next('inbox.task_complete')
  expect(told(stage)).not.toContain('clay')
  for (const [principal, knows] of [
    [alice, true],
    [{ ...alice, id: 'user-bob' }, false],
  ] as const) {
    const { id } = await createSession(stage.deps, ['assistant'], { principal, title: 'Another' })
    await addMessage(stage.deps, { session_id: id, content: 'second', principal })
    await harness.idle()
    expect(typesOf(await readLog(stage.store, id))).toContain('session.complete')
    expect(told(stage).includes('- The user gardens in clay')).toBe(knows)
  }
})

/** Promise 14.3: An accepted skill runs as `/<skill>`, and a rejected one does not. */
test('an accepted skill is listed and runs as /<skill>, a rejected one does not, and none is proposed again', async () => {
  for (const decision of ['approve', 'reject'] as const) {
    await using stage = await setStage({ scenario: reviewScenario(), agent: reviewedAgent })
    const harness = stage.start()
    await stage.send('sow beans')
    await stage.next('inbox.task_complete')
    const item = (await itemsOf(stage)).find(found => found.kind === 'action_required')
    await expect(respondInbox(stage.deps, item!.id, { completed: true }, alice)).rejects.toMatchObject({
      code: 'wrong_target',
    })
    const before = (await stage.session()).last_event_id
    expect(await respondInbox(stage.deps, item!.id, { decision }, alice)).toMatchObject({
      status: 'responded',
      decision,
    })
    await expect(respondInbox(stage.deps, item!.id, { decision: 'approve' }, alice)).rejects.toMatchObject({
      code: 'already_answered',
    })
    // The decision wakes no session and starts no turn.
    expect(await stage.session()).toMatchObject({
      last_event_id: before,
      status: 'completed',
      waiting_on: null,
    })
    await stage.send('/sow-beans the red ones')
    await stage.next('session.complete', 2)
    await harness.idle()
    const events = await stage.events()
    expect(
      events
        .filter(event => event.type === 'skill.invoked')
        .map(event => [event.data.skill, event.data.expanded]),
    ).toEqual(decision === 'approve' ? [['sow-beans', 'Sow the red ones in rows.']] : [])
    expect(told(stage).includes(`- sow-beans: ${SKILL.description}`)).toBe(decision === 'approve')
    expect((await itemsOf(stage)).filter(found => found.kind === 'action_required')).toHaveLength(1)
    expect(reviews(stage)).toHaveLength(2)
    expect(checkHistory(events, { settled: true })).toEqual([])
  }
})

test('a review without findings leaves an event and no item', async () => {
  await using stage = await setStage({
    scenario: reviewScenario({ memory: [], skills: [] }),
    agent: reviewedAgent,
  })
  const harness = stage.start()
  await stage.send('sow beans')
  expect((await stage.next('inbox.task_complete')).data).toMatchObject({
    outcome: 'success',
    summary: 'Nothing new.',
  })
  await harness.idle()
  expect(await itemsOf(stage)).toEqual([])
})

test('a failed review reports the reason and changes nothing', async () => {
  const file = 'what was known\n- The user has a dog\n'
  for (const answer of [say('no JSON at all'), { error: { status: 400, message: 'not today' } }]) {
    await using stage = await setStage({
      scenario: {
        rules: [{ name: 'review', when: { schema: 'session_review' }, answer }, { answer: say('hello') }],
      },
      agent: reviewedAgent,
    })
    mkdirSync(dirname(fileOf(stage)), { recursive: true })
    writeFileSync(fileOf(stage), file)
    const harness = stage.start()
    await stage.send('hi')
    expect((await stage.next('inbox.task_complete')).data).toMatchObject({
      outcome: 'failed',
      summary: expect.stringMatching(/was invalid|not today/),
    })
    await harness.idle()
    expect(readFileSync(fileOf(stage), 'utf8')).toBe(file)
    expect(told(stage)).toContain('- The user has a dog')
    expect(await itemsOf(stage)).toEqual([])
    expect(await stage.session()).toMatchObject({ status: 'completed' })
  }
})

test('a review is off by default, counts turns, and covers only what is enabled', async () => {
  await using off = await setStage({ scenario: reviewScenario() })
  const idle = off.start()
  await off.send('sow beans')
  await off.next('session.complete')
  await idle.idle()
  expect(reviews(off)).toEqual([])

  await using stage = await setStage({
    scenario: reviewScenario(),
    agent: { review: { memory: true, every_turns: 2, model: 'demo/reviewer' } },
  })
  const harness = stage.start()
  for (let turn = 1; turn <= 4; turn++) {
    await stage.send('second')
    await stage.next('session.complete', turn)
    await harness.idle()
    expect(reviews(stage)).toHaveLength(Math.floor(turn / 2))
  }
  expect(reviews(stage)[0]?.body.model).toBe('reviewer')
  const events = await stage.events()
  expect(
    events
      .filter(event => event.type === 'harness.wake' && 'review_memory' in event.data)
      .map(event => event.data),
  ).toEqual(
    Array.from({ length: 2 }, () => ({
      worker_id: expect.any(String),
      review_memory: true,
      review_skills: false,
    })),
  )
  expect((await itemsOf(stage)).map(item => item.kind)).toEqual(['task_complete'])
})

/** Promise 14.13: A session stays usable during its review. */
test('a session stays usable during its review', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        { name: 'review', when: { schema: 'session_review' }, times: 1, answer: { hang: true } },
        { answer: say('Yes.') },
      ],
    },
    agent: { review: { memory: true, every_turns: 1 } },
  })
  const harness = stage.start()
  await stage.send('first')
  await stage.until(events => events.filter(event => event.type === 'harness.wake').length === 2)
  await stage.send('second')
  await stage.next('session.complete', 2)
  await pauseSession(stage.deps, stage.session_id).catch((error: { code: string }) =>
    expect(error.code).toBe('wrong_state'),
  )
  // One review runs: the turn that ended meanwhile starts no other.
  expect(reviews(stage)).toHaveLength(1)
  const events = await stage.events()
  expect(checkHistory(events, { settled: true })).toEqual([])
  // A shutdown does not wait for it.
  await harness.stop()
  expect(typesOf(await stage.events())).not.toContain('inbox.task_complete')
})

test('the memory is bounded and has no secrets, and the reviewer sees no tool results', async () => {
  const secret = 'sk-abcdefghijklmnopqrstuvwx'
  const memory = [
    `the key is ${secret}`,
    'two\nlines',
    'two lines',
    ...Array.from({ length: 60 }, (_, n) => `fact ${n} ${'x'.repeat(400)}`),
  ]
  await using stage = await setStage({
    scenario: reviewScenario({
      memory,
      skills: [
        { name: 'Not a name', description: 'x', body: 'y' },
        { name: 'help', description: 'x', body: 'y' },
      ],
    }),
    agent: reviewedAgent,
  })
  const harness = stage.start()
  await stage.send('sow beans')
  await stage.next('inbox.task_complete')
  await harness.idle()
  const text = readFileSync(fileOf(stage), 'utf8')
  expect(text).not.toContain(secret)
  expect(text.split('\n').filter(line => line.startsWith('- '))).toHaveLength(MAX_ENTRIES)
  expect(text.match(/two lines/g)).toHaveLength(1)
  expect(Math.max(...text.split('\n').map(line => line.length))).toBeLessThanOrEqual(302)
  const asked = JSON.stringify(reviews(stage)[0]?.body.messages)
  expect(asked).toContain('sow beans')
  expect(asked).not.toContain('noted beans')
  expect((await itemsOf(stage)).map(item => item.kind)).toEqual(['task_complete'])
  rmSync(fileOf(stage))
  await stage.send('second')
  await stage.next('session.complete', 2)
  expect(told(stage)).not.toContain('two lines')
})
