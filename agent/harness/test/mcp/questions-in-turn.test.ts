/** A question of an MCP server in a turn: the person answers it, and the running call continues. */
import { answerQuestion, addMessage } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { fakeClock } from '../turn/fake-clock.ts'
import { alice, say, setStage, type Stage } from '../turn/stage.ts'
import { type Answer, INITIALIZED } from './raw-server.ts'
import { startWithRawServer } from './started.ts'

/** Asks whether to pay, and says what it was answered. */
const asking: Readonly<Record<string, Answer>> = {
  'server/discover': () => ({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: INITIALIZED.capabilities,
    serverInfo: INITIALIZED.serverInfo,
  }),
  'tools/list': () => ({
    resultType: 'complete',
    tools: [{ name: 'pay', inputSchema: { type: 'object' } }],
  }),
  'tools/call': ({ params }) =>
    params['inputResponses'] === undefined
      ? {
          resultType: 'input_required',
          requestState: 'the state of the server',
          inputRequests: {
            sure: { method: 'elicitation/create', params: { message: 'Pay 5?', requestedSchema: {} } },
          },
        }
      : {
          resultType: 'complete',
          content: [{ type: 'text', text: `got ${JSON.stringify(params['inputResponses'])}` }],
        },
}
const scenario = {
  rules: [
    { when: { result: 'got' }, answer: say('paid') },
    { when: { result: 'unknown' }, answer: say('lost') },
    { when: { user: 'pay' }, answer: { tool_calls: [{ name: 'mcp__x__pay' }] } },
  ],
}

async function begin(): Promise<{ stage: Stage; prompt: string; tool_call_id: string }> {
  const { mcp } = await startWithRawServer(asking)
  await mcp.ready
  const stage = await setStage({ scenario, mcp, limits: { drain_s: 0.01 } })
  return { stage, prompt: 'Send your answer to MCP server "x"?', tool_call_id: '' }
}
const answer = async (stage: Stage, question: string, text: string): Promise<void> => {
  const { tool_call_id } = (await stage.next('inbox.input_required')).data
  await answerQuestion(stage.deps, {
    session_id: stage.session_id,
    tool_call_id,
    responses: [{ question, answer: text }],
    principal: alice,
  })
}

test('the call waits for the answer, gets it, and its result ends the turn', async () => {
  const { stage, prompt } = await begin()
  await using _ = stage
  stage.start()
  await stage.send('pay')
  expect((await stage.next('inbox.input_required')).data).toMatchObject({
    context: 'MCP server "x" asks: Pay 5?',
    questions: [{ prompt, choices: [{ label: 'Send' }, { label: 'Decline' }], allow_other: false }],
  })
  await answer(stage, prompt, 'Send')
  await stage.next('session.complete')
  expect((await stage.next('tool.result')).data.content).toContain('"action":"accept"')
  expect(JSON.stringify(await stage.events())).not.toContain('the state of the server')
})

test('a message instead of an answer closes the question, and the server gets cancel', async () => {
  const { stage } = await begin()
  await using _ = stage
  stage.start()
  await stage.send('pay')
  await stage.next('inbox.input_required')
  const { session_id, deps } = stage
  await addMessage(deps, { session_id, content: 'never mind', principal: alice, on_question: 'pass_over' })
  expect((await stage.next('tool.result')).data.content).toContain('"action":"cancel"')
})

test('without an answer in time the question is closed, and the server gets cancel', async () => {
  const { stage } = await begin()
  await using _ = stage
  const clock = fakeClock()
  stage.start({ clock })
  await stage.send('pay')
  await stage.next('inbox.input_required')
  await clock.waitsFor(600_000)
  clock.advance(600_000)
  expect((await stage.next('tool.result')).data.content).toContain('"action":"cancel"')
  const { items } = await stage.store.inbox.list({ org_id: 'org', limit: 10 })
  expect(items).toMatchObject([{ kind: 'input_required', status: 'expired', decision: 'timed_out' }])
})

test('if the runner stops while a call waits, the answer ends the call with an unknown outcome', async () => {
  const { stage, prompt } = await begin()
  await using _ = stage
  const first = stage.start()
  await stage.send('pay')
  await stage.next('inbox.input_required')
  await first.stop()
  stage.start()
  await answer(stage, prompt, 'Send')
  await stage.next('session.complete')
  expect((await stage.next('tool.result')).data.content).toMatch(
    /outcome unknown: the runner stopped.*"Send"/s,
  )
})
