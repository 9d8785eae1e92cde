/** Runs of a coding agent, from their command or call to their result. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pauseSession, respondInbox, resumeSession, stopSession } from '@cairn/sessions'
import type { SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { getContent, readCheckpoint } from '@cairn/workspace'
import { expect, test } from 'vitest'
import { alice, say, setStage, type Stage, type StageOptions, typesOf } from '../turn/stage.ts'
import { type ScriptedAgent, scriptedAgent } from './scripted-agent.ts'

const calls = (prompt: string) => ({
  tool_calls: [{ name: 'run_coding_agent', arguments: { prompt } }],
})
const scenario = (prompt: string) => ({
  rules: [
    { when: { user: 'go on without' }, answer: say('without it') },
    { when: { user: 'use the agent' }, steps: [calls(prompt), say('it is done')] },
    { answer: say('a plain answer') },
  ],
})
const CALLS = { code: { tool: 'allow' as const } }

type Scene = { stage: Stage; coder: ScriptedAgent }
async function scene(more: Partial<StageOptions> = {}, coder = scriptedAgent()): Promise<Scene> {
  const stage = await setStage({ scenario: scenario('say hello'), codingAgents: coder, ...more })
  return { stage, coder }
}

const of = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type)
const textOf = (events: readonly SessionEvent[]): string =>
  of(events, 'code.run_progress')
    .filter(({ data }) => data.kind === 'text')
    .map(({ data }) => data.chunk)
    .join('')
const wait = { code: { approval_wait_s: 0.05 } }

async function gateOf(stage: Stage, nth = 1): Promise<string> {
  await stage.next('inbox.governance_gate', nth)
  const { items } = await stage.store.inbox.list({ org_id: 'org', kind: ['governance_gate'], limit: 10 })
  return items.find(({ status }) => status === 'pending')!.id
}
const decide = (stage: Stage, id: string, decision: 'approve' | 'reject') =>
  respondInbox(stage.deps, id, { decision }, alice)

const sound = (events: readonly SessionEvent[], coder: ScriptedAgent): void => {
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(coder.violations()).toEqual([])
  expect(coder.live()).toBe(0)
  expect(of(events, 'code.run_result').length).toBe(of(events, 'code.run_started').length)
}

/**
 * Promise 14.18: A `/code` run has one result, which is its reply; the channel gets it and the model a note.
 */
test('/code starts a run, records what the agent does, and replies with its result', async () => {
  const { stage, coder } = await scene()
  await using _ = stage
  stage.start()
  await stage.send('/code other say one \nthink secretly\ntool Look around\nplan a|b\nsay two')
  await stage.next('session.complete')
  const events = await stage.events()
  sound(events, coder)
  const [begun] = of(events, 'code.run_started')
  expect(begun!.data).toMatchObject({ agent: 'other', provider: 'demo/model', source_event_id: 1 })
  expect(textOf(events)).toBe('one two')
  expect(JSON.stringify(events)).not.toContain('secretly" ')
  expect(of(events, 'code.run_progress').map(({ data }) => data.seq)).toEqual(
    of(events, 'code.run_progress').map((_, at) => at),
  )
  const [result] = of(events, 'code.run_result')
  expect(result!.data).toMatchObject({
    final_message: 'two',
    error: null,
    input_tokens: 10,
    output_tokens: 5,
    cost_usd: 0.01,
    stop_reason: 'end_turn',
  })
  expect(of(events, 'llm.response').map(({ data }) => data.message.content)).toEqual(['two'])
  expect(typesOf(events)).not.toContain('llm.request')
  expect(await stage.session()).toMatchObject({ status: 'completed', input_tokens: 10, cost_usd: 0.01 })
  await stage.send('what did it do?')
  await stage.next('session.complete', 2)
  expect(JSON.stringify(stage.server.requests.at(-1))).toContain('Coding run')
})

test('the model delegates a task to an agent, and its result is the result of the call', async () => {
  const { stage, coder } = await scene({ scenario: scenario('tool Build\nsay built it'), config: CALLS })
  await using _ = stage
  stage.start()
  await stage.send('use the agent')
  await stage.next('session.complete')
  const events = await stage.events()
  sound(events, coder)
  const begun = of(events, 'code.run_started')
  const call = of(events, 'tool.call').find(({ data }) => data.tool_call_id === begun[0]?.data.tool_call_id)
  expect(begun[0]!.data.source_event_id).toBe(call!.id)
  const result = of(events, 'tool.result').find(({ data }) => data.content.includes('built it'))
  expect(JSON.parse(result!.data.content)).toMatchObject({ final_message: 'built it' })
  expect(of(events, 'llm.response').at(-1)!.data.message.content).toBe('it is done')
})

const asks = { governance: { require_approval: ['code.execute'], denied_tools: ['code.delete'] } }

test('checks each permission: allows what no rule names and rejects what is denied', async () => {
  const { stage, coder } = await scene({ agent: asks })
  await using _ = stage
  stage.start()
  await stage.send('/code ask edit a\nask delete b\nsay ok')
  await stage.next('session.complete')
  const events = await stage.events()
  sound(events, coder)
  expect(coder.did).toEqual(['did a', 'left b'])
  const [run] = of(events, 'code.run_started')
  expect(of(events, 'policy.denied').map(({ data }) => [data.tool, data.run_id])).toEqual([
    ['code.delete', run?.data.run_id],
  ])
})

/**
 * Promise 14.18, 10: An approved permission of a coding run is used once, and changed input needs a new
 * approval.
 */
test('an approval in time is used once, and changed input asks again', async () => {
  const { stage, coder } = await scene({ agent: asks })
  await using _ = stage
  stage.start()
  await stage.send('/code ask execute a\nask execute a\nask execute b\nsay ok')
  await decide(stage, await gateOf(stage), 'approve')
  await decide(stage, await gateOf(stage, 2), 'reject')
  await decide(stage, await gateOf(stage, 3), 'approve')
  await stage.next('session.complete')
  const events = await stage.events()
  sound(events, coder)
  expect(coder.did).toEqual(['did a', 'left a', 'did b'])
  expect(coder.started()).toBe(1)
  const [run] = of(events, 'code.run_started')
  expect(of(events, 'policy.allowed').map(({ data }) => data.run_id)).toEqual([
    run?.data.run_id,
    run?.data.run_id,
  ])
  expect(typesOf(events)).not.toContain('llm.request')
})

/**
 * Promise 14.18: A coding run that waits for a decision holds no process and no runner, and continues after
 * it.
 */
test.each(['approve', 'reject'] as const)(
  'parks an undecided run without a runner, and the decision %s resumes it in a new process',
  async decision => {
    const { stage, coder } = await scene({ agent: asks, config: wait })
    await using _ = stage
    const first = stage.start()
    await stage.send('/code say before \nask execute a\nsay after')
    const gate = await gateOf(stage)
    await first.idle()
    expect(coder.live()).toBe(0)
    expect((await stage.store.codeRuns.list(stage.session_id, 1))[0]?.state).toBe('parked')
    expect((await stage.session()).lease).toBeNull()
    await stage.send('a word in between')
    await stage.next('session.complete')
    await first.stop()
    stage.start()
    await decide(stage, gate, decision)
    await stage.until(log => of(log, 'code.run_result').length === 1)
    await stage.next('session.complete', 2)
    const events = await stage.events()
    sound(events, coder)
    expect(coder.did).toEqual([decision === 'approve' ? 'did a' : 'left a'])
    expect(coder.prompts[1]).toContain(decision === 'approve' ? 'was approved' : 'was rejected')
    expect(textOf(events)).toBe('before after')
  },
)

test('a message while a call is parked closes the call but not the run', async () => {
  const parks = { ...scenario('ask execute a\nsay done by it') }
  const config = { code: { ...CALLS.code, ...wait.code } }
  const { stage, coder } = await scene({ agent: asks, config, scenario: parks })
  await using _ = stage
  const harness = stage.start()
  await stage.send('use the agent')
  const gate = await gateOf(stage)
  await harness.idle()
  await stage.send('go on without it')
  await stage.until(log => of(log, 'tool.result').some(({ data }) => data.content.includes('"parked"')))
  await decide(stage, gate, 'approve')
  await stage.until(log => of(log, 'code.run_result').length === 1)
  await harness.idle()
  const events = await stage.events()
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(coder.did).toEqual(['did a'])
  expect(coder.live()).toBe(0)
})

/** Promise 14.18, 6: A stop ends a coding run and its session in one commit. */
test('a stop ends the run with the session, whatever the agent does', async () => {
  const { stage, coder } = await scene()
  await using _ = stage
  const harness = stage.start()
  await stage.send('/code say working \nhang')
  await stage.until(log => textOf(log) !== '' || coder.prompts.length > 0)
  await stopSession(stage.deps, stage.session_id)
  await harness.idle()
  const events = await stage.events()
  sound(events, coder)
  const types = typesOf(events)
  expect(types.slice(types.indexOf('session.stopped'))).toEqual(['session.stopped', 'code.run_result'])
  expect(of(events, 'code.run_result')[0]!.data.error).toBe('stopped')
})

test('a stop of a parked run ends the run and its question', async () => {
  const { stage, coder } = await scene({ agent: asks, config: wait })
  await using _ = stage
  const harness = stage.start()
  await stage.send('/code ask execute a')
  const gate = await gateOf(stage)
  await harness.idle()
  await stage.send('hello')
  await stage.next('session.complete')
  await stopSession(stage.deps, stage.session_id)
  sound(await stage.events(), coder)
  expect((await stage.store.inbox.get(gate))?.status).toBe('expired')
})

test('a pause ends the process, and a resume continues the run', async () => {
  const { stage, coder } = await scene()
  await using _ = stage
  const harness = stage.start()
  await stage.send('/code say one \nhang\nsay two')
  await stage.until(log => textOf(log) !== '')
  await pauseSession(stage.deps, stage.session_id)
  await harness.idle()
  expect(coder.live()).toBe(0)
  await resumeSession(stage.deps, stage.session_id)
  await expect.poll(() => coder.prompts.length).toBe(2)
  expect(coder.prompts[1]).toContain('You were paused')
  await stopSession(stage.deps, stage.session_id)
  await harness.idle()
  sound(await stage.events(), coder)
})

test.each([
  ['die', /exited \(exit code 1\) before/],
  ['fail out of order', /out of order/],
  ['end refusal', /^refusal$/],
  ['end max_tokens', /^max_tokens$/],
])('an agent that does %s leaves one result with the reason', async (line, error) => {
  const { stage, coder } = await scene()
  await using _ = stage
  stage.start()
  await stage.send(`/code say one \n${line}`)
  await stage.next('session.complete')
  const events = await stage.events()
  sound(events, coder)
  expect(of(events, 'code.run_result')[0]!.data.error).toMatch(error)
})

/**
 * Promise 14.18: A coding agent with unreadable output is ended at once, and its result contains the reason.
 */
test.each([
  'npm warn deprecated',
  '{"jsonrpc": "2.0", "id": 3, "result": {"stopReason"',
  '[]',
  '{"level": 30}',
])('an agent that writes the line %s is ended at once, and its result contains the line', async line => {
  const { stage, coder } = await scene()
  await using _ = stage
  stage.start()
  await stage.send(`/code say one \nmumble ${line}`)
  await stage.next('session.complete')
  const [result] = of(await stage.events(), 'code.run_result')
  expect(result!.data.error).toBe(
    `the agent wrote a line that is not an ACP message and was stopped: ${JSON.stringify(line)}`,
  )
  expect(coder.live()).toBe(0)
})

/** Promise 14.18: A run's result contains the changed files, before and after. */
test('the result names the changed files and has their contents before and after', async () => {
  const { stage, coder } = await scene()
  await using _ = stage
  const folder = join(stage.dir, 'workspaces', stage.session_id)
  mkdirSync(join(folder, 'src', '.git'), { recursive: true })
  for (const path of ['old.txt', 'src/gone.txt', 'src/again.txt']) writeFileSync(join(folder, path), 'before')
  writeFileSync(join(folder, 'same.txt'), 'written')
  for (const path of ['large.txt', 'now-small.txt']) writeFileSync(join(folder, path), 'x'.repeat(600_000))
  stage.start()
  const changes = ['new.txt', 'src/again.txt', 'src/.git/index', 'same.txt', 'now-small.txt'].map(
    path => `write ${path}`,
  )
  await stage.send(`/code ${[...changes, 'remove src/gone.txt', 'say done'].join('\n')}`)
  await stage.next('session.complete')
  const events = await stage.events()
  sound(events, coder)
  const { files_changed, changes: between } = of(events, 'code.run_result')[0]!.data
  expect(files_changed).toEqual(['new.txt', 'now-small.txt', 'src/again.txt', 'src/gone.txt'])
  const store = join(stage.dir, 'checkpoints', stage.session_id)
  const textsOf = async (hash: string) => {
    const kept = Object.entries(await readCheckpoint(store, hash)).map(async ([path, content]) => [
      path,
      content === null ? null : (await getContent(store, content.sha256)).toString(),
    ])
    return Object.fromEntries(await Promise.all(kept)) as Record<string, string | null>
  }
  expect(await textsOf(between!.before)).toEqual({
    'new.txt': null,
    'src/again.txt': 'before',
    'src/gone.txt': 'before',
  })
  expect(await textsOf(between!.after)).toEqual({
    'new.txt': 'written',
    'src/again.txt': 'written',
    'src/gone.txt': null,
  })
  expect(of(events, 'llm.response')[0]!.data.message.content).toContain('Files changed: new.txt')
})

test('ignores what an agent writes before its first message', async () => {
  const { stage, coder } = await scene({}, scriptedAgent({ greeting: 'Welcome!\n\n[]\n' }))
  await using _ = stage
  stage.start()
  await stage.send('/code say hello')
  await stage.next('session.complete')
  const [result] = of(await stage.events(), 'code.run_result')
  expect(result!.data).toMatchObject({ final_message: 'hello', error: null })
  expect(coder.live()).toBe(0)
})

test('allows one run at a time and rejects a second with the name of the first', async () => {
  const { stage, coder } = await scene({ agent: asks, config: wait })
  await using _ = stage
  const harness = stage.start()
  await stage.send('/code ask execute a')
  const gate = await gateOf(stage)
  await harness.idle()
  await stage.send('/code say another')
  await stage.until(log => of(log, 'llm.response').length === 1)
  expect(of(await stage.events(), 'llm.response')[0]!.data.message.content).toContain('is already working on')
  await decide(stage, gate, 'reject')
  await stage.until(log => of(log, 'code.run_result').length === 1)
  await harness.idle()
  sound(await stage.events(), coder)
})

test('an agent that cannot resume is not restarted, and its result says that the outcome is unknown', async () => {
  const coder = scriptedAgent({ resumes: false })
  const { stage } = await scene({ agent: asks, config: wait }, coder)
  await using _ = stage
  const harness = stage.start()
  await stage.send('/code ask execute a\nsay after')
  const gate = await gateOf(stage)
  await harness.idle()
  await decide(stage, gate, 'approve')
  await stage.until(log => of(log, 'code.run_result').length === 1)
  await harness.idle()
  const events = await stage.events()
  sound(events, coder)
  expect(of(events, 'code.run_result')[0]!.data.error).toMatch(/outcome is unknown/)
  expect(coder.did).toEqual([])
})
