/** Budgets: the share of a worker, the last call of a session, and the end of its time. */
import type { ConfigInput, SessionEvent } from '@cairn/protocol'
import { checkHistory, checkTree } from '@cairn/verify'
import { expect, test } from 'vitest'
import { call, say, setStage, type Stage } from '../turn/stage.ts'
import { treeLogs, finishWork, goal, OUTCOME, spawn, wait } from './tree-stage.ts'

const ended = (events: readonly SessionEvent[]): boolean => events.at(-1)?.type === 'session.complete'
const using = (tokens: number) => ({ usage: { input_tokens: tokens - 1, output_tokens: 1 } })
const requests = (log: readonly SessionEvent[]) =>
  log.flatMap(event => (event.type === 'llm.request' ? [event.data.tools_disabled ?? false] : []))
const priced: ConfigInput['models'] = { catalog: { 'demo/model': { input: 1, output: 1 } } }

async function soundLogs(stage: Stage): Promise<SessionEvent[][]> {
  const logs = await treeLogs(stage.store, stage.session_id)
  for (const [id, log] of logs) expect([id, checkHistory(log, { settled: true })]).toEqual([id, []])
  expect(checkTree(logs)).toEqual([])
  expect(await stage.store.check()).toEqual([])
  expect(await stage.store.timers.claim('nobody', 10, 1000)).toEqual([])
  return [...logs.values()]
}

/** Promise 14.4: A worker gets a share of its parent's budget and returns the unused part. */
test('a worker gets a share of the remaining budget and returns the unused part', async () => {
  await using stage = await setStage({
    session: { budget: { max_tokens: 90_000 } },
    scenario: {
      rules: [
        { when: goal('dig'), answer: { ...finishWork('A hole.'), ...using(3000) } },
        { when: OUTCOME, answer: { ...say('Dug.'), ...using(1000) } },
        { steps: [{ tool_calls: [spawn('dig here'), spawn('dig there'), wait], ...using(10_000) }] },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  const [parent = []] = await soundLogs(stage)
  const budgets = parent.flatMap(event => (event.type === 'worker.spawned' ? [event.data.budget] : []))
  // 80,000 are left: an eighth, then a seventh of the rest.
  expect(budgets).toMatchObject([{ max_tokens: 10_000 }, { max_tokens: 10_000 }])
  const links = await stage.store.links.children(stage.session_id)
  expect(links.map(link => link.reserved_tokens)).toEqual([10_000, 10_000])
  expect(links.map(link => link.input_tokens + link.output_tokens)).toEqual([3000, 3000])
})

test('spawn_worker fails with the reason when the share would be less than 2,000 tokens', async () => {
  await using stage = await setStage({
    session: { budget: { max_tokens: 20_000 } },
    scenario: {
      rules: [{ steps: [{ tool_calls: [spawn('dig')], ...using(5000) }, say('Alone then.')] }],
    },
  })
  stage.start()
  await stage.send('go')
  const log = await stage.until(ended)
  const [result] = log.flatMap(event => (event.type === 'tool.result' ? [event.data.content] : []))
  expect(result).toContain('too small for more workers (left: 15000 tokens;')
  expect(await stage.store.links.children(stage.session_id)).toEqual([])
})

/** Promise 14.4: At 90 % of a budget one model call remains; beyond the budget no model is called. */
test('at 90% of a budget the next call has no tools, and beyond the budget no model is called', async () => {
  await using stage = await setStage({
    session: { budget: { max_tokens: 10_000 } },
    scenario: {
      rules: [
        { when: { user: 'more' }, answer: say('Never said.') },
        { when: { user: 'last step' }, answer: { ...say('What I have.'), ...using(1500) } },
        {
          steps: [
            { ...call('look', 'here'), ...using(8000) },
            { ...call('look', 'there'), ...using(1000) },
          ],
        },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  const log = await stage.until(ended)
  expect(requests(log)).toEqual([false, false, true])
  expect(log.at(-1)).toMatchObject({ data: { reason: 'completed' } })
  await stage.send('tell me more')
  const again = await stage.until(
    events => events.filter(event => event.type === 'session.complete').length === 2,
  )
  expect(requests(again)).toHaveLength(3)
  expect(again.at(-1)).toMatchObject({ data: { reason: 'budget_exhausted' } })
})

test('a worker beyond its budget fails with its last text as partial result', async () => {
  await using stage = await setStage({
    agent: { workers: { budget: { max_tokens: 2000 } } },
    scenario: {
      rules: [
        {
          when: goal('dig'),
          steps: [{ text: 'Half a hole.', ...call('look', 'down'), ...using(2500) }, say('Never said.')],
        },
        { when: OUTCOME, answer: say('Half, then.') },
        { steps: [{ tool_calls: [spawn('dig'), wait] }] },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  const [parent = [], child = []] = await soundLogs(stage)
  expect(requests(child)).toEqual([false])
  expect(parent.find(event => event.type === 'worker.failed')).toMatchObject({
    data: { cause: 'budget', partial_result: 'Half a hole.' },
  })
})

test('a worker is stopped at its time limit, and its parent continues', async () => {
  await using stage = await setStage({
    agent: { workers: { budget: { max_minutes: 1 / 60 } } },
    limits: { drain_s: 0 },
    scenario: {
      rules: [
        { when: goal('dig'), answer: call('hang', 'on') },
        { when: OUTCOME, answer: say('Too slow.') },
        { steps: [{ tool_calls: [spawn('dig'), wait] }] },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  await stage.until(ended)
  const [parent = []] = await soundLogs(stage)
  expect(parent.find(event => event.type === 'worker.failed')).toMatchObject({ data: { cause: 'deadline' } })
})

/** Promise 14.4: A budget has a time limit that stops the session and all sessions below it. */
test('a session is stopped at its time limit', async () => {
  await using stage = await setStage({
    session: { budget: { max_minutes: 1 / 60 } },
    limits: { drain_s: 0 },
    scenario: { rules: [{ answer: call('hang', 'on') }] },
  })
  stage.start()
  await stage.send('go')
  const log = await stage.until(events => events.some(event => event.type === 'session.stopped'))
  expect(log.find(event => event.type === 'session.stopped')).toMatchObject({ data: { reason: 'deadline' } })
})

test.each([
  ['without a price', {}, 'has no price in models.catalog'],
  ['with a price', { models: priced }, ''],
])('checks a budget in USD with a model %s', async (_, config, problem) => {
  await using stage = await setStage({
    config,
    agent: { workers: { budget: { max_cost_usd: 1 } } },
    scenario: {
      rules: [
        { when: goal('dig'), answer: say('A hole.') },
        { when: OUTCOME, answer: say('Dug.') },
        { steps: [{ tool_calls: [spawn('dig')] }, say('Well.')] },
      ],
    },
  })
  stage.start()
  await stage.send('go')
  const { data } = await stage.next('tool.result')
  if (problem === '') expect(JSON.parse(data.content)).toMatchObject({ status: 'queued' })
  else expect(data.content).toContain(problem)
})
