/**
 * The derived state of a session (contract 4.10): all sources agree after every step of any walk, and with a
 * model of the walk that shares no code with the store.
 */
import {
  type EventDraft,
  type InboxKind,
  SESSION_STATES,
  SESSION_STATUSES,
  type SessionState,
  type SessionStatus,
  writer,
} from '@cairn/protocol'
import { type Claim, type Commit, type LogStore, type RowChange, withRows } from '@cairn/log'
import { RUN_ALL, rounds } from '@cairn/protocol/test/sample'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Bench } from './bench.ts'
import {
  answered,
  complete,
  fail,
  newSession,
  pause,
  resume,
  sagaComplete,
  sagaStart,
  say,
} from './fixture.ts'

const inbox = writer('inbox')
const lifecycle = writer('lifecycle')

const ASKS = {
  question: (id: string): EventDraft =>
    inbox('inbox.input_required', { tool_call_id: id, questions: [{ prompt: 'Which?' }] }),
  action: (id: string): EventDraft =>
    inbox('inbox.action_required', { ...ACTION, tool_call_id: id, action_type: 'login' }),
  proposal: (): EventDraft =>
    inbox('inbox.action_required', {
      ...ACTION,
      action_type: 'skill_proposal',
      proposal: { name: 'sow', description: 'Sow.', body: '# Sow' },
    }),
  approval: (id: string): EventDraft =>
    inbox('inbox.governance_gate', {
      tool_name: 'terminal',
      tool_call_id: id,
      arguments_excerpt: '{}',
      deny_reason: 'asks first',
      policy_id: 'require_approval:terminal',
    }),
}
const ACTION = { title: 'Log in', instructions: 'There.', context: '', reason: 'It asks.', target: null }
const KINDS = {
  question: 'input_required',
  action: 'action_required',
  proposal: 'action_required',
  approval: 'governance_gate',
} as const
type Kind = keyof typeof KINDS
const REOPENED = resume()

/** The weight of each step: runners are quick, and steps that end everything are rare. */
const STEPS = {
  message: 6,
  claim: 14,
  question: 4,
  action: 4,
  proposal: 2,
  approval: 4,
  answer: 6,
  rest: 6,
  complete: 6,
  fail: 2,
  pause: 3,
  resume: 4,
  stop: 3,
  saga: 3,
  unwound: 2,
  archive: 1,
} as const
type Step = keyof typeof STEPS

/** The model of the session. */
type Account = {
  status: 'active' | 'paused' | 'completed' | 'failed' | 'archived'
  /** Requested work that no runner has completed. */
  due: boolean
  /** What a person was asked, oldest first; `passed` after a later message. */
  open: { id: string; kind: Kind; passed: boolean }[]
  saga: 'none' | 'runs' | 'unwinds'
  claim: Claim | null
}

function stateIn({ status, due, open, saga }: Account): SessionState {
  const has = (kind: Kind, passed?: boolean): boolean =>
    open.some(item => item.kind === kind && (passed === undefined || item.passed === passed))
  const works = saga === 'unwinds' || (status === 'active' && due)
  const rules: [boolean, SessionState][] = [
    [status === 'archived', 'done'],
    [status === 'paused', 'paused'],
    [status === 'failed', 'failed'],
    [has('question'), 'needs_answer'],
    [has('action', false), 'needs_action'],
    [works, 'running'],
    [has('action'), 'needs_action'],
    [has('approval'), 'needs_approval'],
    [status === 'completed', 'done'],
  ]
  return rules.find(([holds]) => holds)?.[1] ?? 'idle'
}

/** A step as a commit, and its change of the model; null if it makes no sense. */
function take(step: Step, account: Account, id: string, session_id: string): Commit | null {
  const { status, claim, open } = account
  const at = (events: EventDraft[], more: Partial<Commit> = {}): Commit => ({ session_id, events, ...more })
  const heard = (): void => {
    account.due = true
    for (const item of open) item.passed = true
    if (status === 'completed' || status === 'failed') account.status = 'active'
  }
  const unwind = (): void => void (account.saga = account.saga === 'runs' ? 'unwinds' : account.saga)
  /** The runner's last commit: cursor and lease in one. */
  const ends = (events: EventDraft[]): Commit | null => {
    if (claim === null || status !== 'active') return null
    account.due = false
    account.claim = null
    return at(events, { fence: claim.fence, release_lease: true, cursor: 'self' })
  }
  switch (step) {
    case 'message':
      if (status === 'archived') return null
      heard()
      return at([say(id)], { reopen: REOPENED })
    case 'question':
    case 'action':
    case 'proposal':
    case 'approval': {
      if (claim === null || status !== 'active') return null
      open.push({ id, kind: step, passed: false })
      const event = ASKS[step](id)
      const payload = event.data as Record<string, unknown>
      const item = {
        id,
        kind: KINDS[step],
        title: 'x',
        body: null,
        payload,
        expires_at: null,
        tool_call_id: id,
      }
      return at([withRows(event, { do: 'inbox.open', item })], { fence: claim.fence })
    }
    case 'answer': {
      if (status === 'archived') return null
      const item = open.shift()
      if (item === undefined) return null
      const rows: RowChange[] = [{ do: 'inbox.answer', id: item.id, decision: 'x', status: 'responded' }]
      // A decision on a proposal sends no message.
      if (item.kind === 'proposal') return at([], { rows })
      heard()
      return at([item.kind === 'question' ? answered(item.id) : say('decided')], { rows, reopen: REOPENED })
    }
    case 'rest':
      return ends([])
    case 'complete': {
      const commit = ends([complete()])
      if (commit !== null) account.status = 'completed'
      return commit
    }
    case 'fail': {
      const commit = ends([fail()])
      if (commit !== null) {
        account.status = 'failed'
        unwind()
      }
      return commit
    }
    case 'pause':
      if (status !== 'active') return null
      account.status = 'paused'
      account.claim = null
      unwind()
      return at([pause()], { revoke_lease: true })
    case 'resume':
      if (status !== 'paused') return null
      account.status = 'active'
      heard()
      return at([resume()])
    case 'stop':
      if (status !== 'active') return null
      account.due = false
      account.claim = null
      unwind()
      return at([lifecycle('session.stopped', { reason: 'user' })], { revoke_lease: true, cursor: 'self' })
    case 'saga':
      if (claim === null || account.saga !== 'none') return null
      account.saga = 'runs'
      return at([sagaStart(id)], { fence: claim.fence })
    case 'unwound':
      if (account.saga === 'none') return null
      account.saga = 'none'
      return at([sagaComplete(id)])
    case 'archive':
      account.status = 'archived'
      account.claim = null
      return at([], { revoke_lease: true, cursor: 'self', set: { status: 'archived' } })
    case 'claim':
      return null
  }
}

/** Takes the steps in a new session, and compares after each; returns the states it passed. */
async function walk(store: LogStore, session_id: string, steps: readonly Step[]): Promise<Set<SessionState>> {
  const seen = new Set<SessionState>()
  await store.sessions.create(newSession(session_id, { org_id: session_id }))
  const account: Account = { status: 'active', due: false, open: [], saga: 'none', claim: null }
  try {
    for (const [at, step] of steps.entries()) {
      const told = await tell(store, session_id, step, account, `${session_id}-${at}`)
      const want = stateIn(account)
      seen.add(want)
      expect(
        told.every(state => state === want),
        `${steps.slice(0, at + 1).join(', ')}: ${told.join(' / ')}, not ${want}`,
      ).toBe(true)
    }
  } finally {
    // Leaves nothing of this walk for the next one to claim.
    await store.commit({
      session_id,
      events: account.saga === 'none' ? [] : [sagaComplete('over')],
      revoke_lease: true,
      cursor: 'self',
      set: { status: 'archived' },
    })
  }
  return seen
}

const NEEDS: Partial<Record<SessionState, InboxKind>> = {
  needs_answer: 'input_required',
  needs_action: 'action_required',
  needs_approval: 'governance_gate',
}

/** The inbox contains what the state needs, and an open question determines the state. */
async function compareInbox(
  store: LogStore,
  org_id: string,
  state: SessionState,
  status: SessionStatus,
): Promise<void> {
  const { items } = await store.inbox.list({ org_id, status: ['pending'], limit: 100 })
  const kinds = items
    .filter(({ payload }) => payload['action_type'] !== 'skill_proposal')
    .map(({ kind, session_id }) => (session_id === org_id ? kind : null))
  const needed = NEEDS[state]
  if (needed !== undefined) expect(kinds, `the inbox of a session that ${state}`).toContain(needed)
  if (kinds.includes('input_required') && (status === 'active' || status === 'completed'))
    expect(state).toBe('needs_answer')
}

/** Takes one step; returns the state from the step itself, the record and the list. */
async function tell(
  store: LogStore,
  session_id: string,
  step: Step,
  account: Account,
  id: string,
): Promise<SessionState[]> {
  const told: SessionState[] = []
  if (step === 'claim') {
    const [claim] = account.claim === null ? await store.leases.claim(id, 1, 60_000) : []
    if (claim !== undefined) {
      account.claim = claim
      told.push(claim.session.state)
    }
  } else {
    const commit = take(step, account, id, session_id)
    if (commit !== null) told.push((await store.commit(commit)).session.state)
  }
  const { state, status } = (await store.sessions.get(session_id))!
  told.push(state)
  await compareInbox(store, session_id, state, status)
  // The rule is written once and SQL is generated from it: a listing by state must match the record.
  const all = { org_id: session_id, status: SESSION_STATUSES, limit: 10 }
  const others = SESSION_STATES.filter(other => other !== state)
  expect((await store.sessions.list({ ...all, state: [state] })).sessions).toHaveLength(1)
  expect((await store.sessions.list({ ...all, state: others })).sessions).toHaveLength(0)
  const { sessions } = await store.sessions.list({
    org_id: session_id,
    status: SESSION_STATUSES,
    limit: 10,
  })
  return [...told, ...sessions.map(({ state }) => state)]
}

export function defineState({ open }: Bench): void {
  /** Promise 4.10: Filtering by state lists exactly the sessions whose record has that state. */
  test('property: after every step of any walk, the record, the list, the commit and the claim return one state', async () => {
    const { store } = await open()
    let walks = 0
    const seen = new Set<SessionState>()
    const step = fc.oneof(
      ...Object.entries(STEPS).map(([name, weight]) => ({
        weight,
        arbitrary: fc.constant(name as Step),
      })),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async steps => {
        for (const state of await walk(store, `walk-${++walks}`, ['message', 'claim', ...steps]))
          seen.add(state)
      }),
      { numRuns: rounds(15, 200) },
    )
    // A sample may miss a rare state.
    if (RUN_ALL) expect([...seen].toSorted()).toEqual([...SESSION_STATES].toSorted())
    else expect(seen.size).toBeGreaterThan(SESSION_STATES.length / 2)
  })

  test('a session does not wait for a proposal', async () => {
    const { store } = await open()
    await walk(store, 's', ['message', 'claim', 'proposal', 'complete'])
  })
}
