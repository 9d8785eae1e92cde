/** Workers: created, awaited, distinguished, and each with one outcome. */
import { checkHistory, checkTree } from '@cairn/verify'
import type { SessionEvent } from '@cairn/protocol'
import { archiveSession, pauseSession, respondInbox, resumeSession, stopSession } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { alice, call, readLog, say, setStage, type Stage, typesOf } from '../turn/stage.ts'
import { treeLogs, finishWork, goal, OUTCOME, spawn, wait } from './tree-stage.ts'

async function expectSound(stage: Stage): Promise<Map<string, SessionEvent[]>> {
  const logs = await treeLogs(stage.store, stage.session_id)
  for (const [id, log] of logs) expect([id, checkHistory(log, { settled: true })]).toEqual([id, []])
  expect(checkTree(logs)).toEqual([])
  expect(await stage.store.check()).toEqual([])
  return logs
}
const workerTypes = (log: readonly SessionEvent[]): string[] =>
  typesOf(log).filter(type => type.startsWith('worker.'))
const ended = (events: readonly SessionEvent[]): boolean => events.at(-1)?.type === 'session.complete'
const results = (log: readonly SessionEvent[]): string[] =>
  log.flatMap(event => (event.type === 'tool.result' ? [event.data.content] : []))

/** Promise 14.4: Workers run in parallel, and the parent continues with all their results. */
test('three workers run in parallel, and the waiting parent continues with all their results', async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('count'), steps: [call('note', 'counting'), finishWork('There are 12.')] },
        { when: goal('weigh'), answer: say('It weighs 3 kg.') },
        { when: goal('fail'), answer: { error: { status: 400, message: 'no such thing' } } },
        { when: OUTCOME, answer: say('All told.') },
        {
          steps: [
            {
              tool_calls: [spawn('count the eggs'), spawn('weigh the basket'), spawn('fail at it'), wait],
            },
          ],
        },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  const logs = await expectSound(stage)
  expect(logs.size).toBe(4)
  const parent = logs.get(stage.session_id) ?? []
  expect(workerTypes(parent).toSorted()).toEqual([
    'worker.complete',
    'worker.complete',
    'worker.failed',
    'worker.spawned',
    'worker.spawned',
    'worker.spawned',
  ])
  const outcomes = parent.flatMap(event =>
    event.type === 'worker.complete'
      ? [event.data.result]
      : event.type === 'worker.failed'
        ? [event.data.error]
        : [],
  )
  expect(outcomes.toSorted()).toEqual([
    'It weighs 3 kg.',
    'There are 12.',
    expect.stringContaining('no such'),
  ])
  // The model was called once for the calls and once for all results.
  expect(parent.filter(event => event.type === 'llm.response')).toHaveLength(2)
})

test("a session completes while its worker runs, and the worker's outcome reopens it", async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('hold'), steps: [call('hang', 'on'), say('never')] },
        { when: OUTCOME, answer: say('So it failed.') },
        { steps: [{ tool_calls: [spawn('hold on')] }, say('It is under way.')] },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  const [link] = await stage.store.links.children(stage.session_id, { open: true })
  await stopSession(stage.deps, link?.child_id ?? '')
  await stage.until(events => events.filter(event => event.type === 'session.complete').length === 2)
  const parent = (await expectSound(stage)).get(stage.session_id) ?? []
  expect(typesOf(parent).slice(typesOf(parent).indexOf('session.complete') + 1, -3)).toEqual([
    'session.resume',
    'worker.failed',
    'harness.wake',
    'llm.request',
    'llm.response',
  ])
})

/** Promise 14.4: A user message ends a parent's wait for its workers. */
test('a user message ends the wait at once, and the worker continues', async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('hold'), steps: [call('hang', 'on'), say('never')] },
        { when: { user: 'how is it' }, answer: say('Still at work.') },
        { steps: [{ tool_calls: [spawn('hold on')] }, { tool_calls: [wait] }] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  await stage.until(events =>
    events.some(event => event.type === 'tool.call' && event.data.name === wait.name),
  )
  // A waiting parent holds no lease: only the worker runs.
  await expect.poll(harness.active).toBe(1)
  await stage.send('how is it going?')
  await stage.until(ended)
  expect(results(await stage.events()).at(-1)).toContain('"status":"running"')
  expect(await stage.store.links.children(stage.session_id, { open: true })).toHaveLength(1)
  await stopSession(stage.deps, stage.session_id)
  const logs = await expectSound(stage)
  expect(workerTypes(logs.get(stage.session_id) ?? [])).toEqual(['worker.spawned', 'worker.failed'])
})

/** Promise 6.9: A stop ends all workers below the session in one commit. */
test('a stop ends all sessions below in one commit and wakes none', async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('lead'), steps: [{ tool_calls: [spawn('hold on below'), wait] }] },
        { when: goal('hold'), steps: [call('hang', 'on')] },
        { steps: [{ tool_calls: [spawn('lead', { role: 'orchestrator' }), spawn('hold on'), wait] }] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  await expect.poll(() => stage.ran.filter(ran => ran === 'hang:on').length).toBe(2)
  await stopSession(stage.deps, stage.session_id)
  await harness.idle()
  const logs = await expectSound(stage)
  expect(logs.size).toBe(4)
  for (const [id, log] of logs)
    expect(typesOf(log).at(-1)).toBe(id === stage.session_id ? 'session.stopped' : 'session.complete')
  expect((await stage.session()).status).toBe('active')
})

/** Promise 6.9: A pause or resume applies to all workers below the session. */
test('a pause and a resume apply to all sessions below, and a child alone cannot be resumed', async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('hold'), steps: [call('look', 'around'), call('hang', 'on'), finishWork('held')] },
        { when: OUTCOME, answer: say('Good.') },
        { steps: [{ tool_calls: [spawn('hold on'), wait] }] },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await expect.poll(() => stage.ran).toContain('hang:on')
  await pauseSession(stage.deps, stage.session_id)
  const [link] = await stage.store.links.children(stage.session_id)
  const child = link?.child_id ?? ''
  expect((await stage.store.sessions.get(child))?.status).toBe('paused')
  await expect(resumeSession(stage.deps, child)).rejects.toMatchObject({ code: 'wrong_state' })
  await resumeSession(stage.deps, stage.session_id)
  await stage.until(ended)
  await expectSound(stage)
  expect(typesOf(await readLog(stage.store, child))).toEqual(
    expect.arrayContaining(['session.pause', 'session.resume', 'session.complete']),
  )
})

test('archiving a session archives all sessions below it and ends its open worker', async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('hold'), steps: [call('hang', 'on')] },
        { when: goal('say'), answer: say('said') },
        { steps: [{ tool_calls: [spawn('hold on'), spawn('say it')] }, say('They are at it.')] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  await expect.poll(() => stage.ran).toContain('hang:on')
  await stage.until(events => events.some(event => event.type === 'worker.complete'))
  await archiveSession(stage.deps, await stage.session())
  await harness.idle()
  const logs = await treeLogs(stage.store, stage.session_id)
  expect(checkTree(logs)).toEqual([])
  for (const id of logs.keys()) expect((await stage.store.sessions.get(id))?.status).toBe('archived')
})

const gatedBy = async (stage: Stage): Promise<string> => {
  const gates = async () =>
    (await stage.store.inbox.list({ org_id: 'org', kind: ['governance_gate'], limit: 10 })).items
  await expect.poll(async () => (await gates()).length).toBe(1)
  return (await gates())[0]?.id ?? ''
}

/** Promise 14.4: An approved call of a worker runs before the worker's outcome is delivered. */
test('a worker waits for the approval of its call, and its outcome follows the approved call', async () => {
  await using stage = await setStage({
    agent: { governance: { require_approval: ['note'] } },
    scenario: {
      rules: [
        { when: goal('write'), steps: [call('note', 'it'), say('I wait.')] },
        { when: { user: '^\\[Decision' }, steps: [call('note', 'it'), say('Written.')] },
        { when: OUTCOME, answer: say('Good.') },
        { steps: [{ tool_calls: [spawn('write it')] }, { tool_calls: [wait] }] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  const gate = await gatedBy(stage)
  await harness.idle()
  const [link] = await stage.store.links.children(stage.session_id)
  expect(link?.status).toBe('open')
  expect((await stage.store.sessions.get(link?.child_id ?? ''))?.state).toBe('needs_approval')
  await respondInbox(stage.deps, gate, { decision: 'approve' }, alice)
  await stage.until(ended)
  expect(stage.ran).toEqual(['note:it'])
  const logs = await expectSound(stage)
  expect(logs.get(stage.session_id)?.find(({ type }) => type === 'worker.complete')?.data).toMatchObject({
    result: 'Written.',
  })
})

/** Promise 14.4: A decision made after a worker ended changes nothing and reports the reason. */
test('a decision after the end of the worker is rejected with the reason and changes nothing', async () => {
  await using stage = await setStage({
    agent: { governance: { require_approval: ['note'] } },
    scenario: {
      rules: [
        { when: goal('write'), steps: [call('note', 'it'), finishWork('I did without.')] },
        { when: OUTCOME, answer: say('Good.') },
        { steps: [{ tool_calls: [spawn('write it')] }, { tool_calls: [wait] }] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  const gate = await gatedBy(stage)
  await stage.until(ended)
  await expect(respondInbox(stage.deps, gate, { decision: 'approve' }, alice)).rejects.toMatchObject({
    code: 'already_answered',
    message: expect.stringContaining('the worker that asked has ended'),
  })
  await harness.idle()
  expect(stage.ran).toEqual([])
  await expectSound(stage)
})

/** Promise 13.1: An impossible worker call returns a clear error and creates nothing. */
test('an impossible worker call returns a clear error and creates nothing', async () => {
  const calls = [
    spawn(''),
    spawn('x', { agent: 'nobody' }),
    spawn('x', { model: 'other/model' }),
    spawn('x', { role: 'orchestrator', max_iterations: 99 }),
    { name: 'wait_for_workers', arguments: { ids: ['nobody'] } },
    { name: 'read_worker_result', arguments: { worker_id: 'nobody' } },
    { name: 'send_worker_message', arguments: { worker_id: 'nobody', message: 'hello' } },
    { name: 'stop_worker', arguments: { worker_id: 'nobody', reason: 'enough' } },
    { name: 'worker_complete', arguments: { summary: 'done' } },
    spawn('hold on'),
    spawn('Hold  ON'),
    spawn('another thing'),
  ]
  await using stage = await setStage({
    limits: { drain_s: 0 },
    agent: { workers: { max_open: 1, max_iterations: 5 } },
    scenario: {
      rules: [
        { when: goal('hold'), steps: [call('hang', 'on')] },
        { steps: [{ tool_calls: calls }, say('I see.')] },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  const told = results(await stage.events())
  const expected = [
    'goal',
    'unknown agent',
    'omit it',
    'at most',
    'has no worker',
    'has no worker',
    'has no worker',
    'has no worker',
    'unknown tool',
    'queued',
    'is already working on this goal',
    'at most 1 workers at a time',
  ]
  expect(told.map((content, at) => [at, content.includes(expected[at] ?? '?')])).toEqual(
    expected.map((_, at) => [at, true]),
  )
  expect(await stage.store.links.children(stage.session_id)).toHaveLength(1)
  expect((await stage.store.sessions.list({ org_id: 'org', limit: 10 })).sessions).toHaveLength(2)
  await stopSession(stage.deps, stage.session_id)
  await expectSound(stage)
})
