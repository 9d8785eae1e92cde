import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import type { ConfigInput } from '@cairn/protocol'
import { stopSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { dyingStore } from '../turn/dying-store.ts'
import { say, setStage, type StageOptions, typesOf } from '../turn/stage.ts'

const consult = (expert: string, task = 'weigh it', extra: Record<string, unknown> = {}) => ({
  tool_calls: [{ name: 'consult_expert', arguments: { expert, task, ...extra } }],
})
const uses = (name: string, args: Record<string, unknown>) => ({ tool_calls: [{ name, arguments: args }] })
const EXPERT = 'You are the surveyor'

type Answers = StageOptions['scenario']['rules']
/** An agent with one expert, and the answers of each. */
function staged(
  expert: Answers,
  agent: Answers,
  settings: Partial<NonNullable<ConfigInput['experts']>[string]> = {},
  more: Partial<NonNullable<StageOptions['agent']>> = {},
): StageOptions {
  return {
    agent: { experts: ['surveyor'], ...more },
    config: {
      models: {
        default: 'demo/model',
        providers: { demo: { kind: 'scripted' } },
        catalog: { 'demo/expert': { input: 1, output: 10 }, 'demo/model': { input: 1, output: 10 } },
      },
      experts: {
        surveyor: { description: 'knows about land', system: EXPERT, model: 'demo/expert', ...settings },
      },
    },
    scenario: {
      rules: [...expert.map(rule => ({ ...rule, when: { system: EXPERT, ...rule.when } })), ...agent],
    },
  }
}
const agentAsks = (answer = consult('surveyor')): Answers => [{ steps: [answer, say('the agent is done')] }]

test('an expert works with its own model, prompt and tools, and its answer is the result', async () => {
  const answers: Answers = [
    {
      steps: [
        uses('look', { value: 'at the land' }),
        { text: 'It is flat.', usage: { input_tokens: 100, output_tokens: 10 } },
      ],
    },
  ]
  await using stage = await setStage(
    staged(answers, agentAsks(consult('surveyor', 'is it flat?', { context: 'it rained' })), {
      tools: ['look', 'note'],
    }),
  )
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const events = await stage.events()
  expect(typesOf(events)).toEqual([
    'user.message',
    'harness.wake',
    'llm.request',
    'llm.response',
    'tool.call',
    'expert.delegation',
    'expert.result',
    'tool.result',
    'iteration.summary',
    'llm.request',
    'llm.response',
    'iteration.summary',
    'turn.summary',
    'session.complete',
  ])
  const call = events.find(event => event.type === 'tool.call')
  const tool_call_id = call?.data.tool_call_id
  expect(events.find(event => event.type === 'expert.delegation')?.data).toEqual({
    expert: 'surveyor',
    task: 'is it flat?',
    tools: ['note', 'look'],
    max_iterations: 10,
    tool_call_id,
  })
  expect(events.find(event => event.type === 'expert.result')?.data).toMatchObject({
    expert: 'surveyor',
    success: true,
    iterations_used: 2,
    content: 'It is flat.',
    tool_call_id,
    trace: [{ name: 'look', ok: true }],
  })
  expect(JSON.parse(events.find(event => event.type === 'tool.result')!.data.content)).toEqual({
    expert: 'surveyor',
    content: 'It is flat.',
  })
  expect(stage.ran).toEqual(['look:at the land'])
  expect(checkHistory(events, { settled: true })).toEqual([])

  const [first] = stage.server.requests.filter(request => request.body.model === 'expert')
  expect(first?.body.messages.map(message => message.role)).toEqual(['system', 'user'])
  expect(first?.body.messages[1]?.content).toBe('is it flat?\n\nWhat you should know:\nit rained')
  expect(first?.body.tools?.map(tool => tool.function.name)).toEqual(['note', 'look'])

  const spent = events.flatMap(event =>
    event.type === 'llm.response' || event.type === 'expert.result' ? [event.data] : [],
  )
  const row = await stage.session()
  expect(row.input_tokens).toBe(spent.reduce((sum, data) => sum + (data.input_tokens ?? 0), 0))
  expect(row.cost_usd).toBeCloseTo(
    spent.reduce((sum, data) => sum + (data.cost_usd ?? 0), 0),
    10,
  )
  expect(events.find(event => event.type === 'expert.result')!.data.input_tokens).toBeGreaterThan(100)
})

test('only an agent that lists experts offers the tool, whose description lists them', async () => {
  await using without = await setStage({ ...staged([], [{ answer: say('hi') }]), agent: {} })
  without.start()
  await without.send('go')
  await without.next('session.complete')
  expect(JSON.stringify(without.server.requests[0]?.body.tools)).not.toContain('consult_expert')
  await using stage = await setStage(staged([], [{ answer: say('hi') }]))
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  expect(JSON.stringify(stage.server.requests[0]?.body.tools)).toContain('- surveyor: knows about land')
})

test('an expert that uses up its iterations fails, and its usage counts', async () => {
  const answers: Answers = [{ answer: uses('look', { value: 'again' }) }]
  await using stage = await setStage(staged(answers, agentAsks(), { tools: ['look'], max_iterations: 3 }))
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const events = await stage.events()
  const failure = events.find(event => event.type === 'expert.failure')
  expect(failure?.data).toMatchObject({
    expert: 'surveyor',
    success: false,
    iterations_used: 3,
    error: 'The expert used up its 3 iterations without an answer.',
    trace: [{ ok: true }, { ok: true }, { ok: true }],
  })
  expect(failure?.data.cost_usd).toBeGreaterThan(0)
  expect(JSON.parse(events.find(event => event.type === 'tool.result')!.data.content).error).toMatch(
    /^Tool execution failed: The expert used up/,
  )
  expect(
    stage.server.requests
      .filter(request => request.body.model === 'expert')
      .at(-1)
      ?.body.messages.at(-1)?.content,
  ).toMatch(/your last step/)
  expect(checkHistory(events, { settled: true })).toEqual([])
})

test.each<[string, Answers, Answers, string]>([
  [
    'a model that errs',
    [{ answer: { error: { status: 401, message: 'who are you' } } }],
    agentAsks(),
    'who are you',
  ],
  ['an answer with nothing in it', [{ answer: { empty: true } }], agentAsks(), 'empty answer'],
  [
    'an expert that does not exist',
    [],
    agentAsks(consult('astrologer')),
    'Unknown expert astrologer. Available: surveyor.',
  ],
])(
  '%s records an expert.failure and a failed result, and the turn continues',
  async (_, expert, agent, message) => {
    await using stage = await setStage(staged(expert, agent))
    stage.start()
    await stage.send('go')
    await stage.next('session.complete')
    const events = await stage.events()
    expect(typesOf(events).slice(4, 8)).toEqual([
      'tool.call',
      'expert.delegation',
      'expert.failure',
      'tool.result',
    ])
    expect(events.find(event => event.type === 'expert.failure')?.data.error).toContain(message)
    expect(checkHistory(events, { settled: true })).toEqual([])
  },
)

/** Promise 14.6: An expert never exceeds the permissions of its agent. */
test.each([
  [
    'a tool that it was not given',
    'note',
    { value: 'x' },
    ['look'],
    {},
    /Tool execution failed: unknown tool note; available: look/,
  ],
  ['a tool that changes things, by a pattern', 'note', { value: 'x' }, ['*'], {}, /unknown tool note/],
  [
    "its agent's user",
    'ask_user_question',
    { questions: [{ prompt: 'well?' }] },
    ['*', 'ask_user_question'],
    {},
    /unknown tool ask_user_question/,
  ],
  [
    'a tool that needs an approval',
    'note',
    { value: 'x' },
    ['look', 'note'],
    { governance: { require_approval: ['note'] } },
    /requires human approval, and an expert cannot wait for it/,
  ],
  [
    'a tool that its agent may not use',
    'note',
    { value: 'x' },
    ['look', 'note'],
    { governance: { denied_tools: ['note'] } },
    /denied by the policy/,
  ],
  ['a file outside the workspace', 'read_file', { path: '../../secret' }, ['read_file'], {}, /Blocked: /],
])('an expert is denied %s, gets the reason and continues', async (_, name, args, tools, agent, message) => {
  await using stage = await setStage(
    staged(
      [{ steps: [uses(name, args), say('I went without.')] }],
      agentAsks(),
      { tools: [...tools] },
      agent,
    ),
  )
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  const events = await stage.events()
  const result = events.find(event => event.type === 'expert.result')
  expect(result?.data).toMatchObject({
    content: 'I went without.',
    trace: [{ name, ok: false, error: expect.stringMatching(message) }],
  })
  expect(
    stage.server.requests
      .filter(request => request.body.model === 'expert')
      .at(-1)
      ?.body.messages.at(-1)?.content,
  ).toMatch(message)
  expect(stage.ran).toEqual([])
  expect(typesOf(events)).not.toContain('inbox.governance_gate')
  expect(checkHistory(events, { settled: true })).toEqual([])
})

test('an expert may use a writing tool that its configuration names in full', async () => {
  await using stage = await setStage(
    staged([{ steps: [uses('note', { value: 'a mark' }), say('Marked.')] }], agentAsks(), {
      tools: ['note'],
    }),
  )
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  expect(stage.ran).toEqual(['note:a mark'])
})

test('a long task is cut at 500 characters in the delegation and whole for the expert', async () => {
  const task = `${'x'.repeat(499)}😀 and more`
  await using stage = await setStage(staged([{ answer: say('read') }], agentAsks(consult('surveyor', task))))
  stage.start()
  await stage.send('go')
  await stage.next('session.complete')
  expect((await stage.next('expert.delegation')).data.task).toBe('x'.repeat(499))
  expect(
    stage.server.requests.find(request => request.body.model === 'expert')?.body.messages[1]?.content,
  ).toBe(task)
})

test('a stop while an expert works ends its model call and closes the delegation', async () => {
  await using stage = await setStage(
    staged(
      [{ answer: { hang: true } }],
      [{ when: { user: 'go on' }, answer: say('as you wish') }, ...agentAsks()],
    ),
  )
  const harness = stage.start()
  await stage.send('go')
  await stage.server.requested(2)
  await stopSession(stage.deps, stage.session_id)
  expect(await stage.server.requests[1]?.ended).toBe('left')
  await harness.idle()
  await stage.send('go on')
  await stage.next('session.complete')
  const events = await stage.events()
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(
    events.filter(event => event.type === 'expert.failure' || event.type === 'expert.result'),
  ).toHaveLength(1)
})

/** Promise 14.9: A delegation to an expert ends and no expert runs twice, wherever the runner dies. */
test('after a crash during a delegation its outcome is unknown, and the expert does not run again', async () => {
  const late = { ms: 0 }
  const dir = mkdtempSync(join(tmpdir(), 'cairn-expert-'))
  const store = await openStoreInProcess({
    dir,
    now: () => Date.now() + late.ms,
    monotonic: () => performance.now() + late.ms,
  })
  try {
    await using stage = await setStage({ ...staged([{ answer: say('It is flat.') }], agentAsks()), store })
    const dying = dyingStore(store, 0, 'before')
    const first = stage.start({
      store: {
        ...dying.store,
        commit: commit =>
          (commit.events.some(event => event.type === 'expert.result') ? dying.store : store).commit(commit),
      },
    })
    await stage.send('go')
    await dying.died
    await first.idle()
    late.ms += 61_000
    stage.start()
    await stage.next('session.complete')
    const events = await stage.events()
    expect(typesOf(events).filter(type => type.startsWith('expert.') || type.startsWith('tool.'))).toEqual([
      'tool.call',
      'expert.delegation',
      'expert.failure',
      'tool.result',
    ])
    expect(events.find(event => event.type === 'expert.failure')?.data).toMatchObject({
      expert: 'surveyor',
      iterations_used: 0,
      error: expect.stringContaining('are lost'),
    })
    expect(JSON.parse(events.find(event => event.type === 'tool.result')!.data.content)).toMatchObject({
      outcome: 'unknown',
    })
    expect(stage.server.requests.filter(request => request.body.model === 'expert')).toHaveLength(1)
    expect(checkHistory(events, { settled: true })).toEqual([])
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

test('an agent that lists an unknown expert fails with an error that names it', async () => {
  await using stage = await setStage(staged([], [{ answer: say('hi') }], {}, { experts: ['astrologer'] }))
  stage.start()
  await stage.send('go')
  expect((await stage.next('session.fail')).data).toMatchObject({
    error_category: 'configuration',
    error: expect.stringContaining('astrologer'),
  })
})
