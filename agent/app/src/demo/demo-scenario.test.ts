/** The demo's conversation, run against its scenario with the schemas of the real tools. */
import { EVENTS, familyOf, FAMILIES, type EventType } from '@cairn/protocol'
import { builtinDefinitions } from '@cairn/harness'
import type { ModelMessage } from '@cairn/models'
import { createScripted } from '@cairn/scripted-model/internal/provider'
import { afterAll, expect, test } from 'vitest'
import { readDemoScenario } from './demo-scenario.ts'

const tools = builtinDefinitions()
const offered = tools.map(tool => ({ name: tool.name, description: tool.description, parameters: {} }))
const withWorkers = [
  ...offered,
  ...['delegate_task', 'worker_complete'].map(name => ({ name, description: name, parameters: {} })),
]
const withoutTerminal = offered.filter(({ name }) => name !== 'terminal')
const model = await createScripted({ ...readDemoScenario(), pace_ms: 0 })
afterAll(() => model.close())

type Play = { messages: ModelMessage[]; called: string[]; text: string }

/**
 * One turn: the model answers until it calls no more tools. `results` are the results by tool, by default an
 * empty success.
 */
async function turn(
  before: ModelMessage[],
  content: string,
  results: Record<string, unknown> = {},
  offers = offered,
): Promise<Play> {
  const messages: ModelMessage[] = [...before, { role: 'user', content }]
  const called: string[] = []
  for (;;) {
    const { message } = await model.call(
      { model: 'scripted', messages, tools: offers },
      () => undefined,
      AbortSignal.timeout(60_000),
    )
    messages.push(message)
    if (!message.tool_calls) return { messages, called, text: message.content }
    for (const call of message.tool_calls) {
      const { name } = call.function
      const args: unknown = JSON.parse(call.function.arguments)
      // Throws if the scenario calls a tool with invalid arguments.
      tools.find(tool => tool.name === name)?.parameters.parse(args)
      called.push(name)
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(results[name] ?? {}) })
    }
  }
}

const GATED = { error: 'policy_blocked_overridable', message: 'needs approval', tool_call_id: 'c' }
const ANSWERED = { responses: [{ question: 'q', answer: 'Logs do not forget' }] }
const decision = (verb: string, tool = 'terminal', who = 'person') =>
  `[Decision] A ${who} ${verb} the call of ${tool} (call_1). …`

test('the tour plans, edits files, shows artifacts, asks, waits at the gate, and repeats the call once approved', async () => {
  const tour = await turn([], 'Show me what you can do', { ask_user_question: ANSWERED, terminal: GATED })
  expect(tour.called).toEqual([
    'todo',
    'write_file',
    'list_files',
    'read_file',
    'create_artifact',
    'create_artifact',
    'todo',
    'ask_user_question',
    'write_file',
    'terminal',
  ])
  expect(tour.text).toContain('needs your approval')
  expect(JSON.stringify(tour.messages)).toContain('- Logs do not forget')

  const approved = await turn(tour.messages, decision('approved'), {
    terminal: { exit_code: 0, output: '31 tour/notes.md' },
  })
  expect(approved.called).toEqual(['terminal', 'todo'])
  expect(approved.text).toContain('31 tour/notes.md')
  const commands = approved.messages
    .flatMap(message => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
    .filter(call => call.function.name === 'terminal')
  expect(commands).toHaveLength(2)
  expect(new Set(commands.map(call => call.function.arguments)).size).toBe(1)
  expect(new Set(commands.map(call => call.id)).size).toBe(2)
})

test('with workers, the tour delegates to two of them before it asks', async () => {
  const results = { ask_user_question: ANSWERED, terminal: GATED, edit_file: GATED }
  for (const offers of [withWorkers, withWorkers.filter(({ name }) => name !== 'terminal')]) {
    const tour = await turn([], 'Show me what you can do', results, offers)
    expect(tour.called.filter(name => name === 'delegate_task')).toHaveLength(1)
    expect(tour.called.indexOf('delegate_task')).toBe(tour.called.indexOf('ask_user_question') - 2)
    expect(tour.text).toContain('needs your approval')
  }
})

test('with a browser, the tour visits a page of the service itself', async () => {
  const offers = [
    ...withWorkers,
    ...['browser_navigate', 'service_address'].map(name => ({ name, description: name, parameters: {} })),
  ]
  const service_address = { address: 'http://127.0.0.1:7', login: 'http://127.0.0.1:7/login' }
  const results = { ask_user_question: ANSWERED, terminal: GATED, service_address }
  const tour = await turn([], 'Show me what you can do', results, offers)
  expect(tour.called).toContain('terminal')
  expect(tour.called.indexOf('browser_navigate')).toBe(tour.called.indexOf('ask_user_question') - 2)
  expect(JSON.stringify(tour.messages)).toContain('http://127.0.0.1:7/login')
  expect(JSON.stringify(tour.messages)).not.toContain('no browser')

  const broken = { ...results, browser_navigate: { error: 'all browsers are in use' } }
  const without = await turn([], 'Show me what you can do', broken, offers)
  expect(without.called).toEqual(tour.called)
  expect(JSON.stringify(without.messages)).toContain('could not open the page (all browsers are in use)')
})

/** Promise 14.19: Without a browser the demo tour reports it and completes its other steps. */
test('without a browser, the tour reports it and completes its other steps', async () => {
  const results = { ask_user_question: ANSWERED, terminal: GATED, edit_file: GATED }
  for (const offers of [withWorkers, offered, withoutTerminal]) {
    const tour = await turn([], 'Show me what you can do', results, offers)
    expect(JSON.stringify(tour.messages)).toContain('No browser is available (`cairn doctor` shows')
    expect(tour.called.filter(name => name === 'ask_user_question')).toHaveLength(1)
    expect(tour.text).toContain('needs your approval')
  }
})

test.each([
  ['Count the lines of tour/notes.md', { read_file: { total_lines: 5 } }, '`tour/notes.md` has 5 lines.'],
  ['List the files in tour', { list_files: { entries: ['notes.md'] } }, '`tour` contains notes.md.'],
])('a demo worker reaches its goal and reports it: %s', async (goal, results, said) => {
  const work = ['You work for another agent. …', `Goal:\n${goal}`, 'When you are done …'].join('\n\n')
  const { called, messages } = await turn([], work, results, withWorkers)
  expect(called).toEqual([...Object.keys(results), 'worker_complete'])
  expect(JSON.stringify(messages)).toContain(
    `"arguments":${JSON.stringify(JSON.stringify({ summary: said }))}`,
  )
})

test('when asked for workers, the demo starts two and reports both results', async () => {
  const delegate_task = { workers: [{ result: 'Three lines.' }, { result: 'One file.' }] }
  const played = await turn([], 'have workers do it', { delegate_task }, withWorkers)
  expect(played.called).toEqual(['write_file', 'delegate_task'])
  expect(played.text).toMatch(/- Three lines\.\n- One file\./)
})

test('a demo mission has two rounds: one that needs revision and one that is satisfied', async () => {
  const delegate_task = { workers: [{ result: 'Three lines.' }, { result: 'One file.' }] }
  const kickoff = 'You lead this mission:\nSee what is there\n\nEach round of work is graded …'
  const first = await turn([], kickoff, { delegate_task }, withWorkers)
  expect(first.called).toEqual(['write_file', 'delegate_task'])
  const judge = async (shown: string): Promise<unknown> => {
    const { message } = await model.call(
      {
        model: 'scripted',
        messages: [
          { role: 'system', content: 'You grade a round of a mission: …' },
          { role: 'user', content: shown },
        ],
        tools: [],
        json_schema: { name: 'outcome_verdict', schema: {} },
      },
      () => undefined,
      AbortSignal.timeout(60_000),
    )
    return JSON.parse(message.content)
  }
  expect(await judge('Mission:\nSee what is there')).toMatchObject({ result: 'needs_revision' })
  const second = await turn(first.messages, 'The mission is not complete yet (round 1 …', {}, withWorkers)
  expect(second.called).toEqual(['write_file'])
  expect(second.text).toContain('mission/report.md')
  expect(await judge('Earlier verdicts:\n1. needs_revision: …')).toMatchObject({ result: 'satisfied' })
})

/** Promise 14.5: The demo tour runs a mission of two rounds and ends with a loop of two runs. */
test.each([
  ['the command', 'terminal', { output: '31 tour/notes.md' }],
  ['the change of a file', 'edit_file', { path: 'tour/notes.md', replaced: 1 }],
])('after %s the tour starts a mission, which ends with a loop of two runs', async (_, tool, done) => {
  const more = ['begin_mission', 'schedule_create'].map(name => ({ name, description: name, parameters: {} }))
  const offers = [...withWorkers, ...more].filter(({ name }) => tool === 'terminal' || name !== 'terminal')
  const results = { ask_user_question: ANSWERED, terminal: GATED, edit_file: GATED }
  const tour = await turn([], 'Show me what you can do', results, offers)
  const approved = await turn(tour.messages, decision('approved', tool), { [tool]: done }, offers)
  expect(approved.called).toEqual([tool, 'todo', 'begin_mission'])
  const goesOn = 'The mission is not complete yet (round 1 …'
  const mission = await turn(approved.messages, goesOn, { schedule_create: GATED }, offers)
  expect(mission.called).toEqual(['write_file', 'schedule_create'])
  expect(mission.text).toContain('needs your approval')
  const first = { schedule_id: 's', first_run: '2026-03-29T01:00:00.000Z' }
  const loop = await turn(
    mission.messages,
    decision('approved', 'schedule_create'),
    { schedule_create: first },
    offers,
  )
  expect(loop.called).toEqual(['schedule_create'])
  expect(loop.text).toContain(first.first_run)
})

test('without a terminal, the tour waits at a file edit and repeats that call once approved', async () => {
  const results = { ask_user_question: ANSWERED, edit_file: GATED }
  const tour = await turn([], 'Show me what you can do', results, withoutTerminal)
  expect(tour.called).toEqual([
    'todo',
    'write_file',
    'list_files',
    'read_file',
    'create_artifact',
    'create_artifact',
    'todo',
    'ask_user_question',
    'edit_file',
  ])
  expect(tour.text).toContain('needs your approval')

  const done = { edit_file: { path: 'tour/notes.md', replaced: 1 } }
  const approved = await turn(tour.messages, decision('approved', 'edit_file'), done, withoutTerminal)
  expect(approved.called).toEqual(['edit_file', 'todo'])
  expect(approved.text).toContain('the last line of `tour/notes.md`')
  const edits = approved.messages
    .flatMap(message => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
    .filter(call => call.function.name === 'edit_file')
  expect(new Set(edits.map(call => call.function.arguments)).size).toBe(1)
  expect(edits[0]?.function.arguments).toContain('- Logs do not forget')
})

test('without a terminal, "approve" asks for approval of a file edit', async () => {
  const first = await turn([], 'approve', { edit_file: GATED }, withoutTerminal)
  expect(first).toMatchObject({
    called: ['write_file', 'edit_file'],
    text: expect.stringContaining('needs your approval') as string,
  })
  const done = { edit_file: { path: 'notes/approval-1.md', replaced: 1 } }
  expect(await turn(first.messages, decision('approved', 'edit_file'), done, withoutTerminal)).toMatchObject({
    called: ['edit_file'],
    text: expect.stringContaining('The approval was valid for one call') as string,
  })
})

test('the tour accepts a rejection, and ends without an approval if the policy has no gate', async () => {
  const tour = await turn([], 'what can you do?', { ask_user_question: ANSWERED, terminal: GATED })
  expect(await turn(tour.messages, decision('rejected'))).toMatchObject({
    called: [],
    text: expect.stringContaining('did not run') as string,
  })
  expect(
    (await turn([], 'give me the tour', { ask_user_question: ANSWERED, terminal: { output: 'ran' } })).text,
  ).toContain('It ran without asking')
})

test.each([
  ['Write a file for me', ['write_file', 'read_file'], 'Written and read back'],
  ['make a plan', ['todo', 'todo'], 'Done.'],
  ['Draw me a chart', ['create_artifact', 'create_artifact'], 'belong to the session'],
  ['Ask me something', ['ask_user_question'], 'Noted: Logs do not forget'],
  ['run a command', ['terminal'], 'needs your approval'],
  ['approve', ['terminal'], 'needs your approval'],
  ['show an error', ['read_file'], 'the tool failed'],
  ['look at https://example.org/page?x=1 please', ['web_fetch'], 'The page, shortened'],
  ['think hard', [], 'I have thought about it'],
  ['help', [], 'Show me what you can do'],
  ['Good morning', [], 'You wrote "Good morning"'],
])('%s', async (content, called, text) => {
  const played = await turn([], content, { ask_user_question: ANSWERED, terminal: GATED })
  expect(played).toMatchObject({ called, text: expect.stringContaining(text) as string })
})

test('"approve" asks for a new approval after an earlier one', async () => {
  const first = await turn([], 'approve', { terminal: GATED })
  const ran = await turn(first.messages, decision('approved'), {
    terminal: { exit_code: 0, output: 'Hello' },
  })
  expect(ran).toMatchObject({ called: ['terminal'], text: expect.stringContaining('exit code 0') as string })
  expect((await turn(ran.messages, 'approve', { terminal: GATED })).called).toEqual(['terminal'])
})

const say = async (system: string, content: string): Promise<string> =>
  (
    await model.call(
      {
        model: 'scripted',
        tools: [],
        messages: [
          { role: 'system', content: system },
          { role: 'user', content },
        ],
      },
      () => undefined,
      AbortSignal.timeout(60_000),
    )
  ).message.content

test('answers requests for titles and summaries by separate rules', async () => {
  expect(
    await say('You name conversations. Reply with a title.', 'Show me what you can do\n\n---\n\nGladly.'),
  ).toBe('Show me what you can do')
  expect(await say('Summarise the conversation.', 'file please')).toContain('file please')
})

test('without tools, the demo answers and makes no call', async () => {
  const { message } = await model.call(
    { model: 'scripted', tools: [], messages: [{ role: 'user', content: 'Show me what you can do' }] },
    () => undefined,
    AbortSignal.timeout(60_000),
  )
  expect(message).toMatchObject({ content: expect.stringContaining('demo model') as string })
  expect(message).not.toHaveProperty('tool_calls')
})

test('the chart of event types matches the event table', () => {
  const counts = FAMILIES.map(
    family => (Object.keys(EVENTS) as EventType[]).filter(type => familyOf(type) === family).length,
  )
  const calls = readDemoScenario()
    .rules.flatMap(rule => rule.steps ?? [])
    .flatMap(step => step.tool_calls ?? [])
  const chart = calls.flatMap(call =>
    'arguments' in call && call.arguments['name'] === 'Event types by family' ? [call.arguments['spec']] : [],
  )
  const truth = { chart: { labels: [...FAMILIES], datasets: [{ data: counts }] } }
  expect(chart).toMatchObject([truth])
})

test.each(['person', 'service account'])(
  'the loop waits at the gate, is created by the same call once a %s approved it, and its runs answer',
  async who => {
    const offers = [...offered, { name: 'schedule_create', description: 'at times', parameters: {} }]
    const held = await turn([], 'Show a loop', { schedule_create: GATED }, offers)
    expect(held.called).toEqual(['schedule_create'])
    const made = await turn(
      held.messages,
      decision('approved', 'schedule_create', who),
      { schedule_create: { schedule_id: 's', first_run: '2026-03-29T01:00:00.000Z' } },
      offers,
    )
    expect(made.called).toEqual(['schedule_create'])
    expect(made.text).toContain('2026-03-29T01:00:00.000Z')
    const call = (messages: readonly ModelMessage[]) =>
      messages.flatMap(message => ('tool_calls' in message ? (message.tool_calls ?? []) : []))
    const [first, second] = call(made.messages).map(each => each.function.arguments)
    expect(first).toBe(second)
    expect((await turn([], 'Say that you were run\n\nThis is a scheduled run, for …')).text).toContain(
      'session',
    )
  },
)
