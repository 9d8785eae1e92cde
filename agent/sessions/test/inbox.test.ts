import { clip } from '@cairn/protocol'
import {
  acknowledgeInbox,
  archiveSession,
  createSession,
  sessionCompleted,
  GRANT_TTL_MS,
  createActionItem,
  createGateItem,
  createProgressItem,
  createTaskCompleteItem,
  type CreatedItem,
  readInbox,
  respondInbox,
} from '@cairn/sessions'
import { expect, test } from 'vitest'
import { alice, bob, type Desk, judge, setUp, stranger, types } from './desk.ts'

const gateData = {
  tool_name: 'terminal',
  tool_call_id: 'c1',
  arguments_excerpt: '{"command":"rm"}',
  deny_reason: 'needs approval',
  policy_id: 'require_approval:terminal',
}
const gate = (desk: Desk) => createGateItem(desk.deps, { ...gateData, arguments_hash: 'hash-1' })
const raise = async (desk: Desk, created: CreatedItem): Promise<string> => {
  await desk.write([created.event])
  return created.item_id
}

const action = {
  title: 'Log in',
  instructions: 'Log in at the bank.',
  context: '',
  action_type: 'browser_login',
  target: null,
  reason: '',
}

test('a gate has its documented keys and hides the hash of its arguments', async () => {
  await using desk = await setUp()
  const id = await raise(desk, gate(desk))
  const data = {
    tool_name: 'terminal',
    tool_call_id: 'c1',
    arguments_excerpt: '{"command":"rm"}',
    deny_reason: 'needs approval',
    policy_id: 'require_approval:terminal',
  }
  expect((await desk.last())?.data).toEqual({ ...data, item_id: id })
  const item = await readInbox(desk.deps, id, alice)
  expect(item).toMatchObject({
    kind: 'governance_gate',
    title: 'Approval needed: terminal',
    payload: data,
    status: 'pending',
  })
  expect(item.read_at).not.toBeNull()
  expect(JSON.stringify(item)).not.toContain('hash-1')
  expect(await desk.row()).toMatchObject({ waiting_on: 'approval' })
})

test('an approval commits the item, a grant for an hour and the message to the model together', async () => {
  await using desk = await setUp()
  const id = await raise(desk, gate(desk))
  await desk.write([sessionCompleted('completed', 'w')])
  expect(await respondInbox(desk.deps, id, { decision: 'approve' }, alice)).toMatchObject({
    status: 'responded',
    decision: 'approve',
  })
  expect(types(await desk.events()).slice(2)).toEqual(['session.resume', 'user.message'])
  expect((await desk.last())?.data).toMatchObject({
    synthetic: 'governance_decision',
    inbox_item_id: id,
    tool_call_id: 'c1',
    content: expect.stringMatching(/approved.*terminal.*exactly the same/),
  })
  expect((await desk.last())?.data).not.toHaveProperty('principal_user_id')
  expect(await desk.store.grants.find(desk.session.id, 'terminal', 'hash-1')).not.toBeNull()
  expect(await desk.store.grants.find(desk.session.id, 'terminal', 'hash-2')).toBeNull()
  desk.clock.now += GRANT_TTL_MS + 1
  expect(await desk.store.grants.find(desk.session.id, 'terminal', 'hash-1')).toBeNull()
})

/** Promise 5.5: A decision records the user or service account that made it. */
test.each([
  ['a user', alice, 'A person', { decided_by_user_id: 'alice' }],
  ['a service account', judge, 'A service account', { decided_by_service_account_id: 'judge' }],
] as const)(
  'a decision by %s is attributed in the item, the message and the grant',
  async (_, who, words, keys) => {
    await using desk = await setUp()
    for (const decision of ['approve', 'reject'] as const) {
      const id = await raise(desk, gate(desk))
      expect(await respondInbox(desk.deps, id, { decision }, who)).toMatchObject({ decision, ...keys })
      expect((await desk.last())?.data).toMatchObject({
        content: expect.stringContaining(`[Decision] ${words} `),
        metadata: { decision, ...keys },
      })
    }
    expect((await desk.store.grants.find(desk.session.id, 'terminal', 'hash-1'))?.granted_by).toEqual({
      kind: who.kind,
      id: who.id,
    })
  },
)

/** Promise 6.6: Archiving a session expires its open inbox items. */
test('archiving a session expires its open inbox items in the same commit, and they accept no answer', async () => {
  await using desk = await setUp()
  const asked = await raise(desk, gate(desk))
  const done = await raise(
    desk,
    createTaskCompleteItem(desk.deps, {
      outcome: 'success',
      summary: 's',
      duration_seconds: 1,
      session_title: null,
    }),
  )
  const answered = await raise(desk, createActionItem(desk.deps, action))
  await respondInbox(desk.deps, answered, { completed: true }, alice)
  const other = await createSession(desk.deps, ['assistant'], { principal: alice })
  const elsewhere = createActionItem(desk.deps, action)
  await desk.store.commit({ session_id: other.id, events: [elsewhere.event] })
  const changed: string[] = []
  const unwatch = desk.store.inbox.watch('org', id => changed.push(id))

  await archiveSession(desk.deps, await desk.row())
  const statusOf = async (id: string) => {
    const item = await desk.store.inbox.get(id)
    return [item?.status, item?.decision]
  }
  expect(await Promise.all([asked, done, answered, elsewhere.item_id].map(statusOf))).toEqual([
    ['expired', 'archived'],
    ['expired', 'archived'],
    ['responded', 'completed'],
    ['pending', null],
  ])
  expect(changed.toSorted()).toEqual([asked, done].toSorted())
  expect(await desk.row()).toMatchObject({ status: 'archived', waiting_on: null })
  expect((await desk.store.inbox.list({ org_id: 'org', status: ['pending'], limit: 10 })).items).toHaveLength(
    1,
  )
  await expect(respondInbox(desk.deps, asked, { decision: 'approve' }, alice)).rejects.toMatchObject({
    code: 'already_answered',
    message: 'This has expired: archived.',
  })
  expect(await desk.store.grants.find(desk.session.id, 'terminal', 'hash-1')).toBeNull()
  unwatch()
})

/** Promise 10.12: A decision with a `shown_hash` is accepted only if it matches the item's arguments. */
test('a shown_hash must match the arguments of the item, and a decision without one is accepted', async () => {
  await using desk = await setUp()
  const whole = { arguments: { command: 'rm' }, shown_hash: 'shown-1' }
  const raiseWhole = () =>
    raise(desk, createGateItem(desk.deps, { ...gateData, ...whole, arguments_hash: 'hash-1' }))
  const id = await raiseWhole()
  for (const decision of ['approve', 'reject'] as const)
    await expect(
      respondInbox(desk.deps, id, { decision, shown_hash: 'shown-2' }, alice),
    ).rejects.toMatchObject({ code: 'not_what_was_shown' })
  expect(await desk.store.grants.find(desk.session.id, 'terminal', 'hash-1')).toBeNull()
  expect(
    await respondInbox(desk.deps, id, { decision: 'approve', shown_hash: 'shown-1' }, alice),
  ).toMatchObject({
    decision: 'approve',
    payload: whole,
  })
  const other = await raiseWhole()
  expect(await respondInbox(desk.deps, other, { decision: 'approve' }, alice)).toMatchObject({
    decision: 'approve',
  })
})

test('an item of an older release with truncated arguments can be rejected but not approved', async () => {
  await using desk = await setUp()
  const id = await raise(
    desk,
    createGateItem(desk.deps, { ...gateData, arguments_excerpt: 'x'.repeat(900), arguments_hash: 'hash-1' }),
  )
  await expect(respondInbox(desk.deps, id, { decision: 'approve' }, alice)).rejects.toMatchObject({
    code: 'wrong_state',
  })
  expect(await respondInbox(desk.deps, id, { decision: 'reject' }, alice)).toMatchObject({
    decision: 'reject',
  })
})

test('a rejection adds a message for the model and no grant', async () => {
  await using desk = await setUp()
  const id = await raise(desk, gate(desk))
  await respondInbox(desk.deps, id, { decision: 'reject' }, alice)
  expect((await desk.last())?.data).toMatchObject({
    synthetic: 'governance_decision',
    content: expect.stringContaining('rejected'),
  })
  expect(await desk.store.grants.find(desk.session.id, 'terminal', 'hash-1')).toBeNull()
})

/** Promise 4.7: A second decision is rejected with the first one. */
test('rejects a second decision with the first one and changes nothing', async () => {
  await using desk = await setUp()
  const id = await raise(desk, gate(desk))
  await respondInbox(desk.deps, id, { decision: 'reject' }, alice)
  const before = await desk.events()
  await expect(respondInbox(desk.deps, id, { decision: 'approve' }, alice)).rejects.toMatchObject({
    code: 'already_answered',
    extra: { decision: 'reject' },
  })
  expect(await desk.events()).toEqual(before)
  expect(await desk.store.grants.find(desk.session.id, 'terminal', 'hash-1')).toBeNull()
})

test('two concurrent decisions result in one decision', async () => {
  await using desk = await setUp()
  const id = await raise(desk, gate(desk))
  const both = await Promise.allSettled([
    respondInbox(desk.deps, id, { decision: 'approve' }, alice),
    respondInbox(desk.deps, id, { decision: 'reject' }, alice),
  ])
  expect(both.filter(outcome => outcome.status === 'fulfilled')).toHaveLength(1)
  const [refused] = both.filter(outcome => outcome.status === 'rejected')
  expect(refused?.reason).toMatchObject({ code: 'already_answered', extra: { decision: 'approve' } })
  expect(types(await desk.events()).filter(type => type === 'user.message')).toHaveLength(1)
})

test('another user’s item is not found', async () => {
  await using desk = await setUp()
  const id = await raise(desk, gate(desk))
  for (const principal of [bob, stranger])
    await expect(respondInbox(desk.deps, id, { decision: 'approve' }, principal)).rejects.toMatchObject({
      code: 'not_found',
    })
  await expect(respondInbox(desk.deps, 'nope', { decision: 'approve' }, alice)).rejects.toMatchObject({
    code: 'not_found',
  })
})

test('completing an action adds a message for the model', async () => {
  await using desk = await setUp()
  const id = await raise(
    desk,
    createActionItem(desk.deps, {
      title: 'Log in to the bank',
      instructions: 'Open the page',
      context: '',
      action_type: 'browser',
      target: null,
      reason: 'two factors',
    }),
  )
  expect(await desk.row()).toMatchObject({ waiting_on: 'action' })
  expect(await respondInbox(desk.deps, id, { completed: true }, alice)).toMatchObject({
    status: 'responded',
    decision: 'completed',
  })
  expect((await desk.last())?.data).toMatchObject({
    synthetic: 'action_completed',
    inbox_item_id: id,
    content: expect.stringContaining('Log in to the bank'),
  })
})

test('an answer must match the kind of the item', async () => {
  await using desk = await setUp()
  const asked = await raise(desk, gate(desk))
  const informed = await raise(
    desk,
    createTaskCompleteItem(desk.deps, {
      outcome: 'success',
      summary: 'all good',
      duration_seconds: 3,
      session_title: null,
    }),
  )
  await expect(respondInbox(desk.deps, asked, { completed: true }, alice)).rejects.toMatchObject({
    code: 'wrong_target',
  })
  await expect(respondInbox(desk.deps, informed, { decision: 'approve' }, alice)).rejects.toMatchObject({
    code: 'wrong_target',
  })
  await expect(acknowledgeInbox(desk.deps, asked, alice)).rejects.toMatchObject({ code: 'wrong_target' })
  expect(await acknowledgeInbox(desk.deps, informed, alice)).toMatchObject({
    status: 'acknowledged',
    decided_by_user_id: 'alice',
  })
  await expect(acknowledgeInbox(desk.deps, informed, alice)).rejects.toMatchObject({
    code: 'already_answered',
  })
})

test('titles and bodies are truncated to their limits at whole characters', async () => {
  await using desk = await setUp()
  const id = await raise(
    desk,
    createProgressItem(desk.deps, {
      progress_summary: '🪨'.repeat(600),
      iterations: 3,
      last_tool: null,
      elapsed_seconds: 120,
    }),
  )
  const item = await readInbox(desk.deps, id, alice)
  expect(item.title).toBe('Progress: 3 iterations, 2 min')
  expect(item.body?.length).toBeLessThanOrEqual(1000)
  expect(item.body?.isWellFormed()).toBe(true)
  expect(clip('short', 120)).toBe('short')
  expect(clip('a🪨b', 3)).toBe('a…')
})
