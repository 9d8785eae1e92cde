/** Delegations: the call returns their results, they have a time limit, and a user message ends the wait. */
import { checkHistory, checkTree } from '@cairn/verify'
import { stopSession } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { call, say, setStage, type Stage, typesOf } from '../turn/stage.ts'
import { treeLogs, finishWork, goal } from './tree-stage.ts'

const delegate = (args: Record<string, unknown>) => ({
  tool_calls: [{ name: 'delegate_task', arguments: args }],
})
const ended = (events: readonly { type: string }[]): boolean => events.at(-1)?.type === 'session.complete'
async function resultOf(stage: Stage): Promise<Record<string, unknown>> {
  const logs = await treeLogs(stage.store, stage.session_id)
  for (const [id, log] of logs) expect([id, checkHistory(log, { settled: true })]).toEqual([id, []])
  expect(checkTree(logs)).toEqual([])
  const results = (logs.get(stage.session_id) ?? []).flatMap(event =>
    event.type === 'tool.result' && event.data.name === 'delegate_task' ? [event.data.content] : [],
  )
  expect(results).toHaveLength(1)
  return JSON.parse(results[0] ?? '') as Record<string, unknown>
}

/** Promise 14.4: Delegated goals run in parallel, and the call returns their results in order. */
test('two goals run in parallel, and the call returns their results in order', async () => {
  await using stage = await setStage({
    scenario: {
      rules: [
        {
          when: goal('slow'),
          steps: [call('note', 'slowly'), call('look', 'here'), finishWork('It took long.')],
        },
        { when: goal('quick'), answer: say('It was quick.') },
        {
          steps: [
            delegate({ goals: [{ goal: 'slow work' }, { goal: 'quick work' }] }),
            say('Both are done.'),
          ],
        },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  expect(await resultOf(stage)).toMatchObject({
    workers: [
      { status: 'complete', result: 'It took long.' },
      { status: 'complete', result: 'It was quick.' },
    ],
  })
  const types = typesOf(await stage.events())
  expect(types.filter(type => type.startsWith('delegation.'))).toEqual([
    'delegation.start',
    'delegation.start',
    'delegation.complete',
    'delegation.complete',
  ])
  // The call's result has what it waited for, without a message of its own: the model is called twice.
  expect(types.filter(type => type === 'llm.response')).toHaveLength(2)
  expect(await stage.store.timers.claim('nobody', 10, 1000)).toEqual([])
})

/** Promise 14.4: A delegation has a time limit and reports when it exceeds it. */
test('a delegation is stopped at its timeout and reports it', async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('hold'), steps: [call('hang', 'on')] },
        { when: goal('quick'), answer: say('It was quick.') },
        {
          steps: [
            delegate({ goals: [{ goal: 'hold on' }, { goal: 'quick work' }], timeout_s: 1 }),
            say('One was late.'),
          ],
        },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  expect(await resultOf(stage)).toMatchObject({
    workers: [{ status: 'failed', cause: 'timeout' }, { status: 'complete' }],
  })
})

/** Promise 14.4: A user message detaches a delegation, which continues as a worker. */
test('a user message detaches a delegation, which continues as a worker', async () => {
  await using stage = await setStage({
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('hold'), steps: [call('hang', 'on')] },
        { when: { user: 'how is it' }, answer: say('Still at work.') },
        { steps: [delegate({ goal: 'hold on' })] },
      ],
    },
  })
  const harness = stage.start()
  await stage.send('go')
  await expect.poll(() => stage.ran).toContain('hang:on')
  await expect.poll(harness.active).toBe(1)
  await stage.send('how is it going?')
  await stage.until(ended)
  expect(await stage.store.links.children(stage.session_id, { open: true })).toHaveLength(1)
  await stopSession(stage.deps, stage.session_id)
  expect(await resultOf(stage)).toMatchObject({ status: 'running' })
  expect(typesOf(await stage.events()).filter(type => type.startsWith('delegation.'))).toEqual([
    'delegation.start',
    'delegation.failed',
  ])
})
