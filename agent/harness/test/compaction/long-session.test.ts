import { addMessage, defineOutcomes, respondInbox } from '@cairn/sessions'
import type { SessionEvent } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { alice, setStage, type Stage } from '../turn/stage.ts'

const SUMMARISES = 'keep the memory of an assistant'
const WORDS =
  'All is noted and the work goes on as it was agreed, step after step, nothing is skipped. '.repeat(6)
const plan = [
  { id: 'p1', content: 'survey the northern fence', status: 'in_progress' },
  { id: 'p2', content: 'paint it green', status: 'pending' },
]
const scenario = {
  rules: [
    { name: 'summary', when: { system: SUMMARISES }, answer: { text: 'The fence is being surveyed.' } },
    {
      when: { user: '^begin' },
      steps: [
        {
          tool_calls: [
            { name: 'todo', arguments: { todos: plan } },
            { name: 'note', arguments: { value: 'order 40 litres of paint' } },
          ],
        },
        { text: 'The plan stands; the order waits for approval.' },
      ],
    },
    { name: 'chat', answer: { text: WORDS } },
  ],
}

/** Sends a message and waits for the end of the turn by the session's row, because the log is long. */
async function converse(stage: Stage, content: string): Promise<void> {
  const over = Promise.withResolvers<void>()
  const id = (await addMessage(stage.deps, { session_id: stage.session_id, content, principal: alice }))
    .last_id
  const look = (): void => {
    stage.session().then(session => {
      if (session.cursor >= id && session.lease === null && session.status === 'completed') over.resolve()
    }, over.reject)
  }
  const unwatch = stage.store.events.watch(stage.session_id, look)
  look()
  await over.promise
  unwatch()
}

const compactions = (events: readonly SessionEvent[]) =>
  events.filter(event => event.type === 'context.compact')

/** Promise 7: A session that compacts keeps its plan, its goal and its open approvals. */
test(
  'a session of 300 messages compacts several times and keeps its plan, its goal and its open approval',
  { timeout: 600_000 },
  async () => {
    await using stage = await setStage({
      scenario,
      agent: { governance: { require_approval: ['note'] } },
      config: {
        models: {
          default: 'demo/model',
          providers: { demo: { kind: 'scripted' } },
          catalog: { 'demo/model': { context_window: 8000, input: 1, output: 2 } },
        },
      },
    })
    await defineOutcomes(stage.deps, stage.session_id, [
      {
        description: 'The whole fence is green by Friday',
        rubric: { type: 'text', content: 'every plank is green' },
      },
    ])
    await stage.send('/goal pause')
    stage.start()
    await stage.next('session.complete')
    await converse(stage, 'begin with the fence')
    for (let message = 0; message < 148; message++) await converse(stage, `question ${message}: ${WORDS}`)

    const events = await stage.events()
    const made = compactions(events)
    expect(
      events.filter(
        event =>
          event.type === 'user.message' ||
          (event.type === 'llm.response' && event.data.message.content !== ''),
      ).length,
    ).toBeGreaterThanOrEqual(300)
    expect(made.length).toBeGreaterThanOrEqual(3)
    expect(
      made.every(
        event =>
          event.data.reason === 'threshold' &&
          event.data.truncated === undefined &&
          (event.data.cost_usd ?? 0) > 0,
      ),
    ).toBe(true)
    expect(checkHistory(events, { settled: true })).toEqual([])

    const gate = events.find(event => event.type === 'inbox.governance_gate')
    const sent = stage.server.requests
      .filter(request => request.rule === 'chat')
      .map(request => JSON.stringify(request.body.messages))
    const compacted = sent.filter(messages => messages.includes('[Summary of the conversation so far]'))
    expect(compacted.length).toBeGreaterThan(100)
    for (const messages of compacted) {
      for (const known of [
        'survey the northern fence',
        'paint it green',
        'The whole fence is green by Friday',
        'every plank is green',
        'order 40 litres of paint',
        gate?.data.tool_call_id ?? 'no gate',
      ])
        expect(messages).toContain(known)
    }
    // No request came near the window, and summaries of summaries do not accumulate.
    expect(
      Math.max(...events.map(event => (event.type === 'llm.response' ? event.data.input_tokens : 0))),
    ).toBeLessThan(8000)
    expect(compacted.at(-1)?.split('The fence is being surveyed.').length).toBe(2)

    const [item] = (
      await stage.store.inbox.list({
        org_id: 'org',
        session_id: stage.session_id,
        status: ['pending'],
        limit: 10,
      })
    ).items
    await respondInbox(stage.deps, item!.id, { decision: 'reject' }, alice)
    await converse(stage, 'that is decided then')
    await converse(stage, '/compress')
    await converse(stage, 'what is open?')
    const last = JSON.stringify(stage.server.requests.at(-1)?.body.messages)
    expect(last).toContain('survey the northern fence')
    expect(last).not.toContain('[Waiting for a person]')
  },
)
