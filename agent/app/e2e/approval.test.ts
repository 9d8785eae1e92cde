/** An approval over HTTP. The test kills the server between the steps (contract 10.4; Governance). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiError, type CairnClient } from '@cairn/client'
import type { InboxItem, SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { type Server, makePlace, startServer, startService } from './server.ts'
import { PATIENCE_MS, endsTurn, isType, newSession, readLog, runTurn, say, waitFor } from './session.ts'

/**
 * "run X" calls the terminal once. After an approval, the model calls it again. After a denial, it answers.
 */
const SCENARIO = {
  rules: [
    {
      name: 'retry',
      when: { user: 'person approved', step: 0 },
      answer: { tool_calls: [{ repeat: 'terminal' }] },
    },
    {
      name: 'call',
      when: { user: '^run (.*)$', step: 0 },
      answer: { tool_calls: [{ name: 'terminal', arguments: { command: 'echo {{user.1}} >> done.txt' } }] },
    },
    { name: 'rest', answer: { text: 'I leave it at that.' } },
  ],
}
const CONFIG = { agents: { assistant: { governance: { require_approval: ['terminal'] } } } }

const pending = async (client: CairnClient, session_id: string): Promise<InboxItem[]> =>
  (await client.call('listInbox', { query: { status: 'pending', kind: 'governance_gate', session_id } }))
    .items
const decide = (client: CairnClient, item_id: string, decision: 'approve' | 'reject'): Promise<InboxItem> =>
  client.call('respondInbox', { params: { item_id }, body: { decision } })
const results = (events: SessionEvent[]): unknown[] =>
  events.filter(isType('tool.result')).map(({ data }) => JSON.parse(data.content) as unknown)

/** Promise 10.4: An approval covers one call, once, across restarts. */
test(
  'an approval allows exactly that call, once, across server crashes',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const place = makePlace({ scenario: SCENARIO, config: CONFIG })
    let server: Server = await startServer(place)
    const reborn = async (): Promise<CairnClient> => {
      await server.kill()
      server = await startServer(place)
      return server.client
    }
    let { client } = server
    const id = await newSession(client)
    const done = (): string => readFileSync(join(place.workspaces, id, 'done.txt'), 'utf8')

    const asked = await runTurn(client, id, 'run one')
    expect(asked.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['policy.denied', 'inbox.governance_gate', 'tool.result']),
    )
    expect(results(asked)).toEqual([expect.objectContaining({ error: 'policy_blocked_overridable' })])
    expect(done).toThrow('ENOENT')

    client = await reborn()
    const [item] = await pending(client, id)
    expect(item?.payload).toMatchObject({ tool_name: 'terminal' })
    const approved = await decide(client, item!.id, 'approve')
    expect(approved).toMatchObject({ status: 'responded', decision: 'approve' })
    client = await reborn()
    await waitFor(client, id, asked.at(-1)!.id, endsTurn)
    expect(done()).toBe('one\n')
    const log = await readLog(client, id)
    expect(log.filter(isType('policy.allowed')).map(({ data }) => data)).toEqual([
      expect.objectContaining({ tool_name: 'terminal', reason: 'human approval' }),
    ])

    // The grant is consumed: the same call needs a new approval, and so does a call with other arguments.
    client = await reborn()
    for (const text of ['run one', 'run two']) {
      const again = await runTurn(client, id, text)
      expect(results(again)).toEqual([expect.objectContaining({ error: 'policy_blocked_overridable' })])
    }
    expect(done()).toBe('one\n')

    // A rejection denies the call, and a later decision does not change it.
    const [second] = await pending(client, id)
    await decide(client, second!.id, 'reject')
    const twice = (await decide(client, second!.id, 'approve').catch((error: unknown) => error)) as ApiError
    expect(twice).toBeInstanceOf(ApiError)
    expect([twice.status, twice.code, twice.problem['decision']]).toEqual([409, 'already_answered', 'reject'])
    client = await reborn()
    await waitFor(client, id, (await readLog(client, id)).findLast(isType('user.message'))!.id, endsTurn)
    expect(done()).toBe('one\n')
  },
)

test('an approval given for one command does not cover another', async () => {
  const server = await startService(
    makePlace({
      scenario: {
        rules: [
          {
            when: { user: 'person approved', step: 0 },
            answer: { tool_calls: [{ name: 'terminal', arguments: { command: 'echo other >> done.txt' } }] },
          },
          ...SCENARIO.rules,
        ],
      },
      config: CONFIG,
    }),
  )
  const { client } = server
  const id = await newSession(client)
  const asked = await runTurn(client, id, 'run one')
  const [item] = await pending(client, id)
  await decide(client, item!.id, 'approve')
  await waitFor(client, id, asked.at(-1)!.id, endsTurn)
  const log = await readLog(client, id)
  expect(results(log)).toEqual([
    expect.objectContaining({ error: 'policy_blocked_overridable' }),
    expect.objectContaining({ error: 'policy_blocked_overridable' }),
  ])
  expect(await pending(client, id)).toHaveLength(1)
})

test('rejects a decision for an unknown item and an invalid decision', async () => {
  const { client } = await startService(makePlace({ scenario: SCENARIO, config: CONFIG }))
  const id = await newSession(client)
  await runTurn(client, id, 'run one')
  const [item] = await pending(client, id)
  const missing = (await decide(client, 'nothing', 'approve').catch((error: unknown) => error)) as ApiError
  const wrong = (await decide(client, item!.id, 'maybe' as 'approve').catch(
    (error: unknown) => error,
  )) as ApiError
  expect([missing.status, wrong.status, wrong.code]).toEqual([404, 422, 'invalid_body'])
  expect(await pending(client, id)).toHaveLength(1)
})

test('a message sent while a gate is open starts a turn without the gated call', async () => {
  const { client } = await startService(makePlace({ scenario: SCENARIO, config: CONFIG }))
  const id = await newSession(client)
  await runTurn(client, id, 'run one')
  const after = await say(client, id, 'never mind')
  expect((await waitFor(client, id, after, isType('llm.response'))).data.message.content).toBe(
    'I leave it at that.',
  )
})
