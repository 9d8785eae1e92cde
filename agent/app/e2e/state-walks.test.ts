/**
 * Random walks of one session through its states, in a real browser: after each step all views show the same
 * state. WALK_STEPS=100 takes more steps; WALK_SEED=… repeats a walk.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InboxItem, SessionState } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { openBrowser, openPage } from './browser.ts'
import { seeded } from './seeded.ts'
import { startService } from './server.ts'
import { newSession, PATIENCE_MS, say, waitFor } from './session.ts'
import { expectState, placeOfStates, type World } from './shown-state.ts'

const STEPS = Number(process.env['WALK_STEPS'] ?? 8)
const SEED = Number(process.env['WALK_SEED'] ?? Date.now() % 2 ** 31)

type Walker = World & { id: string }
/** A person's action and the state that it must lead to. */
type Move = { to: SessionState; take(walker: Walker): Promise<void> }

const saying = (text: string, to: SessionState): Move => ({
  to,
  async take({ server, id }) {
    const after = await say(server.client, id, text)
    if (to === 'running') await waitFor(server.client, id, after, ({ type }) => type === 'tool.call')
  },
})

const stateOf = async ({ server, id }: Walker): Promise<SessionState> =>
  (await server.client.call('getSession', { params: { id } })).state
async function itemOf({ server, id }: Walker): Promise<InboxItem> {
  const { items } = await server.client.call('listInbox', { query: { status: 'pending', session_id: id } })
  const [item] = items
  if (item === undefined) throw new Error(`nothing in the inbox waits for ${id}`)
  return item
}
const responding = async (
  walker: Walker,
  body: { decision: 'approve' | 'reject' } | { completed: true },
): Promise<void> => {
  const { id: item_id } = await itemOf(walker)
  await walker.server.client.call('respondInbox', { params: { item_id }, body })
}
const rejecting: Move = { to: 'done', take: walker => responding(walker, { decision: 'reject' }) }
const completing: Move = { to: 'done', take: walker => responding(walker, { completed: true }) }
/**
 * An approval is valid once for the same call. The call is made here, so that the next one needs approval
 * again.
 */
const approving: Move = {
  to: 'done',
  async take(walker) {
    const { server, id } = walker
    await responding(walker, { decision: 'approve' })
    await expect.poll(() => stateOf(walker), { timeout: PATIENCE_MS }).toBe('done')
    const after = await say(server.client, id, 'write it again')
    await waitFor(server.client, id, after, ({ type }) => type === 'session.complete')
  },
}
const answering: Move = {
  to: 'done',
  async take(walker) {
    const { payload } = await itemOf(walker)
    const tool_call_id = String((payload as { tool_call_id?: unknown }).tool_call_id)
    await walker.server.client.call('answerQuestion', {
      params: { id: walker.id, tool_call_id },
      body: { responses: [{ question: 'Which colour?', answer: 'red' }] },
    })
  },
}
const stopping: Move = {
  to: 'idle',
  take: async ({ server, id }) => void (await server.client.call('stopSession', { params: { id } })),
}
const pausing: Move = {
  to: 'paused',
  take: async ({ server, id }) => void (await server.client.call('pauseSession', { params: { id } })),
}
/** The command that the session waited for ends at once. */
const resuming: Move = {
  to: 'done',
  async take({ place, server, id }) {
    writeFileSync(join(place.workspaces, id, 'go'), '')
    await server.client.call('resumeSession', { params: { id } })
  },
}

const FREE: readonly Move[] = [
  saying('hello', 'done'),
  saying('ask me', 'needs_answer'),
  saying('write it', 'needs_approval'),
  saying('act on it', 'needs_action'),
  saying('break it', 'failed'),
  saying('wait for it', 'running'),
]
const MOVES: Record<SessionState, readonly Move[]> = {
  idle: FREE,
  done: FREE,
  failed: FREE,
  running: [stopping, pausing],
  paused: [resuming],
  needs_answer: [answering],
  needs_approval: [approving, rejecting],
  needs_action: [completing],
}

/**
 * Promise 4.10: All views and the inbox show the same state after every step of a random walk in a browser.
 */
test(
  `all views agree after each of ${STEPS} random steps through the states (WALK_SEED=${SEED})`,
  async () => {
    const random = seeded(SEED)
    const place = placeOfStates()
    const server = await startService(place)
    const { page, troubles } = await openPage(await openBrowser())
    await page.goto(server.loginUrl)
    await page.waitForURL(url => url.pathname === '/')
    const walker = { place, server, page, id: await newSession(server.client) }
    let state: SessionState = 'idle'
    for (let step = 0; step < STEPS; step += 1) {
      const moves: readonly Move[] = MOVES[state]
      const { to, take } = moves[Math.floor(random() * moves.length)]!
      await take(walker)
      await expect
        .poll(() => stateOf(walker), { timeout: PATIENCE_MS, message: `step ${step}, after ${state}` })
        .toBe(to)
      await expectState(walker, walker.id, to)
      if (state === 'paused') rmSync(join(place.workspaces, walker.id, 'go'))
      state = to
    }
    expect(troubles).toEqual([])
  },
  STEPS * PATIENCE_MS,
)
