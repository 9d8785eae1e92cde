/** The claim order: fair between principals, and between the session trees of one (contract 8.7). */
import { expect, test } from 'vitest'
import type { Claim, ClaimRules, LogStore, NewSession } from '@cairn/log'
import type { Bench } from './bench.ts'
import { complete, newSession, say } from './fixture.ts'

const MINUTE = 60_000
const RULES: ClaimRules = { tree_parallel: null, principal_turns: null, children: null }

type Made = { id: string } & Partial<Pick<NewSession, 'created_by' | 'parent_id'>>

function settingsOf(id: string, more: Partial<NewSession>): Omit<NewSession, 'id'> {
  const { id: _, ...settings } = newSession(id, more)
  return settings
}

/** Sessions with work, in that order, in few commits. */
async function makeWork(store: LogStore, made: readonly Made[], at_once = 250): Promise<void> {
  if ((await store.sessions.get('maker')) === null)
    await store.sessions.create(newSession('maker', { created_by: 'maker' }))
  for (let from = 0; from < made.length; from += at_once)
    await store.commit({
      session_id: 'maker',
      events: [],
      also: made
        .slice(from, from + at_once)
        .map(({ id, ...more }) => ({ session_id: id, create: settingsOf(id, more), events: [say('go')] })),
    })
}
const childrenOf = (parent_id: string, count: number, created_by = 'ann'): Made[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `${parent_id}.${String(at).padStart(2, '0')}`,
    parent_id,
    created_by,
  }))

const claimed = (claims: readonly Claim[]): string[] => claims.map(({ session }) => session.id)
const takes = async (store: LogStore, limit: number, rules: Partial<ClaimRules> = {}): Promise<string[]> =>
  claimed(await store.leases.claim('w', limit, MINUTE, { ...RULES, ...rules }))
async function end(store: LogStore, { session, fence }: Claim): Promise<void> {
  await store.commit({
    session_id: session.id,
    fence,
    events: [complete()],
    cursor: 'self',
    release_lease: true,
  })
}

export function defineFairness({ open }: Bench): void {
  test('a principal with fewer running turns comes first, however long other work has waited', async () => {
    const { store, clock } = await open()
    await makeWork(
      store,
      [1, 2, 3, 4].map(nth => ({ id: `ann${nth}`, created_by: 'ann' })),
    )
    expect(await takes(store, 2)).toEqual(['ann1', 'ann2'])
    clock.advance(1000)
    await makeWork(
      store,
      [1, 2, 3].map(nth => ({ id: `bob${nth}`, created_by: 'bob' })),
    )
    expect(await takes(store, 1)).toEqual(['bob1'])
    // Two of ann are running and one of bob: bob is next, then both alternate.
    expect(await takes(store, 3)).toEqual(['bob2', 'ann3', 'bob3'])
    expect(await takes(store, 3)).toEqual(['ann4'])
  })

  test('roots of a principal come before children that have waited longer', async () => {
    const { store, clock } = await open()
    await makeWork(store, childrenOf('tree', 3))
    clock.advance(1000)
    await makeWork(store, [{ id: 'root', created_by: 'ann' }])
    expect(await takes(store, 2)).toEqual(['root', 'tree.00'])
  })

  test('a tree has a maximum number of running children, and the others delay no other tree', async () => {
    const { store, clock } = await open()
    await makeWork(store, childrenOf('wide', 12))
    clock.advance(1000)
    await makeWork(store, childrenOf('late', 2))
    const first = await store.leases.claim('w', 3, MINUTE, { ...RULES, tree_parallel: 4 })
    expect(claimed(first)).toEqual(['wide.00', 'wide.01', 'wide.02'])
    expect((await takes(store, 3, { tree_parallel: 4 })).toSorted()).toEqual([
      'late.00',
      'late.01',
      'wide.03',
    ])
    expect(await takes(store, 3, { tree_parallel: 4 })).toEqual([])
    for (const claim of first.slice(0, 2)) await end(store, claim)
    expect(await takes(store, 3, { tree_parallel: 4 })).toEqual(['wide.04', 'wide.05'])
  })

  test('a grandchild counts for the tree of its root', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('root', { created_by: 'ann' }))
    const spawn = (child_id: string, parent_id: string, depth: number) =>
      store.commit({
        session_id: parent_id,
        events: [],
        rows: [
          {
            do: 'link.open',
            link: {
              child_id,
              parent_id,
              root_id: 'root',
              depth,
              kind: 'worker',
              tool_call_id: null,
              task_id: null,
              attempt: null,
            },
            max_open: 8,
            max_total: 50,
          },
        ],
        also: [
          {
            session_id: child_id,
            create: settingsOf(child_id, { parent_id, created_by: 'ann' }),
            events: [say('go')],
          },
        ],
      })
    await spawn('child', 'root', 1)
    await spawn('grandchild', 'child', 2)
    expect(await takes(store, 2, { tree_parallel: 1 })).toEqual(['child'])
    expect(await takes(store, 2, { tree_parallel: 1 })).toEqual([])
    expect(await takes(store, 2, { tree_parallel: 2 })).toEqual(['grandchild'])
  })

  test('a principal has a maximum number of running turns, and those of dead runners do not count', async () => {
    const { store, clock } = await open()
    await makeWork(
      store,
      [1, 2, 3, 4].map(nth => ({ id: `ann${nth}`, created_by: 'ann' })),
    )
    expect(await takes(store, 4, { principal_turns: 2 })).toEqual(['ann1', 'ann2'])
    expect(await takes(store, 4, { principal_turns: 2 })).toEqual([])
    clock.advance(MINUTE + 1)
    expect(await takes(store, 4, { principal_turns: 2 })).toEqual(['ann1', 'ann2'])
  })

  test('a claim takes at most its number of children, and still takes roots', async () => {
    const { store, clock } = await open()
    await makeWork(store, childrenOf('tree', 5))
    clock.advance(1000)
    await makeWork(store, [{ id: 'root', created_by: 'bob' }])
    expect(await takes(store, 4, { children: 2 })).toEqual(['root', 'tree.00', 'tree.01'])
    expect(await takes(store, 4, { children: 0 })).toEqual([])
    expect(await takes(store, 2, { children: 1 })).toEqual(['tree.02'])
  })

  /** Promise 8.7: A flood of one principal's workers delays another principal's turn by at most one claim. */
  test('a flood of 1,000 children of one principal delays another principal’s turn by at most one claim', async () => {
    const { store, clock } = await open()
    const places = 8
    await makeWork(store, Array.from({ length: 125 }, (_, at) => childrenOf(`flood${at}`, 8)).flat())
    const rules = (running: number): ClaimRules => ({
      tree_parallel: 8,
      principal_turns: null,
      children: Math.max(0, places * 0.75 - running),
    })
    let running = await store.leases.claim('w', places, MINUTE, rules(0))
    expect(running).toHaveLength(6)
    for (const message of ['first', 'second', 'third']) {
      clock.advance(1000)
      await makeWork(store, [{ id: message, created_by: 'bob' }])
      // A turn of the flood ends; one claim hands out its place and the free ones.
      const [ended, ...others] = running
      if (ended !== undefined) await end(store, ended)
      const round = await store.leases.claim('w', places - others.length, MINUTE, rules(others.length))
      expect(claimed(round)[0]).toBe(message)
      for (const claim of round.slice(0, 1)) await end(store, claim)
      running = [...others, ...round.slice(1)]
    }
    expect(await store.check()).toEqual([])
  })

  test('each of 300 waiting principals gets a turn within 300 claims', async () => {
    const { store } = await open()
    const everybody = Array.from({ length: 300 }, (_, at) => `user${String(at).padStart(3, '0')}`)
    await makeWork(store, [
      ...Array.from({ length: 40 }, (_, at) => ({ id: `more${at}`, created_by: 'user000' })),
      ...everybody.map(created_by => ({ id: `of ${created_by}`, created_by })),
    ])
    const seen = new Set<string>()
    for (let round = 0; round < 30; round += 1)
      for (const { session } of await store.leases.claim('w', 10, MINUTE)) seen.add(session.created_by)
    expect(seen.size).toBe(300)
  })

  /** Promise 8.7: A session tree has a maximum number of running workers, even with concurrent claims. */
  test('concurrent claims exceed no limit together', async () => {
    const { store } = await open()
    await makeWork(store, [...childrenOf('wide', 20), ...childrenOf('other', 20, 'bob')])
    const rules = { ...RULES, tree_parallel: 4, principal_turns: 5 }
    const all: string[] = []
    for (let round = 0; round < 4; round += 1)
      all.push(
        ...claimed(
          (
            await Promise.all(
              Array.from({ length: 8 }, (_, at) => store.leases.claim(`w${at}`, 3, MINUTE, rules)),
            )
          ).flat(),
        ),
      )
    expect(new Set(all).size).toBe(all.length)
    expect(all.filter(id => id.startsWith('wide'))).toHaveLength(4)
    expect(all.filter(id => id.startsWith('other'))).toHaveLength(4)
  })

  /** Promise 8.7: No claim goes to the principal with more running turns. */
  test('after any claims and ends, no claim goes to the principal with more running turns', async () => {
    const { store } = await open()
    let seed = 7
    const below = (limit: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % limit
    }
    const waiting = new Map<string, string>()
    const running = new Map<string, Claim>()
    const runningOf = (who: string): number =>
      [...running.values()].filter(({ session }) => session.created_by === who).length
    for (let step = 0; step < 60; step += 1) {
      const created_by = `user${below(below(4) + 1)}`
      const made = Array.from({ length: below(4) }, (_, at) => ({ id: `${step}.${at}`, created_by }))
      await makeWork(store, made)
      for (const { id } of made) waiting.set(id, created_by)
      for (const claim of [...running.values()].filter(() => below(3) === 0)) {
        running.delete(claim.session.id)
        await end(store, claim)
      }
      const claims = await store.leases.claim('w', 1 + below(3), MINUTE)
      for (const { session } of claims) waiting.delete(session.id)
      for (const claim of claims) {
        const left = [...waiting.values()].map(runningOf)
        expect(runningOf(claim.session.created_by)).toBeLessThanOrEqual(Math.min(...left))
        running.set(claim.session.id, claim)
      }
    }
    expect(running.size).toBeGreaterThan(0)
  })

  /** Promise 8.7: Scheduled runs of a principal queue behind each other and delay no worker's turn. */
  test('scheduled runs of a principal queue behind each other and delay no worker', async () => {
    const { store } = await open()
    const runs = ['ann', 'bob'].flatMap(by =>
      [1, 2, 3, 4].map(nth => ({ id: `${by}-run${nth}`, created_by: by, parent_id: 'maker' })),
    )
    await makeWork(store, runs)
    await makeWork(store, [{ id: 'worker', created_by: 'ann', parent_id: 'maker' }])
    await store.commit({
      session_id: 'maker',
      events: [],
      rows: runs.map(({ id }) => ({
        do: 'link.open',
        link: {
          child_id: id,
          parent_id: 'maker',
          root_id: id,
          depth: 0,
          kind: 'run',
          tool_call_id: null,
          task_id: null,
          attempt: null,
        },
        max_open: 1,
        max_total: 1,
      })),
    })
    const rules = { ...RULES, principal_runs: 2 }
    const first = await store.leases.claim('w', 20, MINUTE, rules)
    expect(claimed(first).toSorted()).toEqual(['ann-run1', 'ann-run2', 'bob-run1', 'bob-run2', 'worker'])
    expect(await takes(store, 20, rules)).toEqual([])
    // One free place and several waiting: a principal at its limit is skipped.
    await makeWork(store, [{ id: 'late', created_by: 'ann', parent_id: 'maker' }])
    expect(await takes(store, 1, rules)).toEqual(['late'])
    for (const claim of first) if (claim.session.id === 'ann-run1') await end(store, claim)
    expect(await takes(store, 20, rules)).toEqual(['ann-run3'])
  })
}
