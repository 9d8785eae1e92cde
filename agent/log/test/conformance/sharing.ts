/** Several processes on one place: each sees the writes of the others, and their writes do not conflict. */
import { expect, test } from 'vitest'
import { type LogStore, type NewSchedule, tail, withRows } from '@cairn/log'
import { claimOne, ids, newSession, once, readAll, response, say, thought, upTo } from './fixture.ts'
import type { Bench } from './bench.ts'

export function defineSharing({ open, makeUnopened }: Bench): void {
  async function openThree(): Promise<[LogStore, LogStore, LogStore]> {
    const { store, place, clock } = await open()
    return [store, (await open({ place, clock })).store, (await open({ place, clock })).store]
  }
  const textOf = (json: string): string =>
    (JSON.parse(json) as { data: { reasoning: string } }).data.reasoning

  test('32 writers of three processes on one session leave ids without a gap and atomic commits', async () => {
    const stores = await openThree()
    await stores[0].sessions.create(newSession('s'))
    const answers = await Promise.all(
      Array.from({ length: 32 }, async (_, writer) => {
        const own: number[] = []
        for (let round = 0; round < 10; round += 1)
          own.push(
            ...ids(
              (
                await stores[writer % 3]!.commit({
                  session_id: 's',
                  events: [thought(`${writer}/${round}/a`), thought(`${writer}/${round}/b`)],
                })
              ).events,
            ),
          )
        return own
      }),
    )
    const all = await readAll(stores[0], 's')
    expect(ids(all)).toEqual(upTo(640))
    expect(answers.flat().toSorted((a, b) => a - b)).toEqual(upTo(640))
    for (let at = 0; at < all.length; at += 2)
      expect(textOf(all[at + 1]?.json ?? '')).toBe(textOf(all[at]?.json ?? '').replace('/a', '/b'))
    expect(await stores[1].check()).toEqual([])
  })

  test('the schedule limit of an owner counts over all processes and sessions', async () => {
    const stores = await openThree()
    const names = Array.from({ length: 18 }, (_, at) => `s${at}`)
    for (const name of names) await stores[0].sessions.create(newSession(name))
    const { org_id, created_by } = newSession('s0')
    const spec = { prompt: 'p', kind: 'once', timezone: 'UTC' } as unknown as NewSchedule['spec']
    const state = {} as NewSchedule['state']
    const added = await Promise.allSettled(
      names.map((session_id, at) =>
        stores[at % 3]!.commit({
          session_id,
          events: [thought('adds')],
          rows: [
            {
              do: 'schedule.add',
              schedule: { id: `of-${session_id}`, session_id, org_id, created_by, due_at: null, spec, state },
              most_of_session: 5,
              most_of_owner: 4,
            },
          ],
        }),
      ),
    )
    expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    expect((await stores[1].schedules.list({ org_id, limit: 50 })).schedules).toHaveLength(4)
  })

  test('batches over the same sessions in any order succeed in three processes', async () => {
    const stores = await openThree()
    const names = Array.from({ length: 12 }, (_, at) => `s${at}`)
    for (const name of names) await stores[0].sessions.create(newSession(name))
    await Promise.all(
      stores.flatMap((store, at) =>
        Array.from({ length: 15 }, (_, round) => {
          const turned = names.map(
            (_, index) => names[(index * (at === 1 ? 11 : 1) + round + at) % names.length] ?? '',
          )
          return Promise.all(turned.map(name => store.commit({ session_id: name, events: [thought('x')] })))
        }),
      ),
    )
    for (const name of names) expect(ids(await readAll(stores[0], name))).toEqual(upTo(45))
    expect(await stores[0].check()).toEqual([])
  })

  test('a tail in each process returns the whole log in order while all of them write', async () => {
    const stores = await openThree()
    await stores[0].sessions.create(newSession('s'))
    const stop = new AbortController()
    const followed = Promise.all(
      [0, 1, 2, 0, 1, 2].map(async at => {
        const seen: number[] = []
        for await (const page of tail(stores[at]!, 's', 0, stop.signal)) {
          seen.push(...ids(page))
          if (seen.length >= 300) return seen
        }
        return seen
      }),
    )
    await Promise.all(
      stores.map(async store => {
        for (let round = 0; round < 50; round += 1)
          await store.commit({ session_id: 's', events: [thought('a'), thought('b')] })
      }),
    )
    for (const seen of await followed) expect(seen).toEqual(upTo(300))
    stop.abort()
  })

  test('a commit of one process wakes the runners, readers and inbox watchers of another', async () => {
    const [here, there] = await openThree()
    await here.sessions.create(newSession('s'))
    const [work, grown, raised] = [once(), once(), once()]
    there.leases.watch(work.call)
    there.events.watch('s', grown.call)
    const items: string[] = []
    there.inbox.watch('org_1', id => {
      items.push(id)
      raised.call()
    })
    await here.commit({
      session_id: 's',
      events: [
        withRows(say('go'), {
          do: 'inbox.open',
          item: {
            id: 'i',
            kind: 'task_complete',
            title: 'T',
            body: null,
            payload: {},
            expires_at: null,
            tool_call_id: null,
          },
        }),
      ],
    })
    await Promise.all([work.called, grown.called, raised.called])
    expect(ids(await there.events.read('s', 0, 10))).toEqual([1])
    expect(items).toEqual(['i'])
    expect(await there.leases.claim('w', 1, 60_000)).toMatchObject([{ session: { id: 's' } }])
  })

  test('an acknowledged commit is readable in every process at once', async () => {
    const [here, there] = await openThree()
    await here.sessions.create(newSession('s'))
    there.events.watch('s', () => undefined)
    for (let round = 1; round <= 50; round += 1) {
      const { last_id } = await here.commit({ session_id: 's', events: [thought(String(round))] })
      expect(ids(await there.events.read('s', last_id - 1, 10))).toEqual([last_id])
    }
  })

  test('a lease of one process is respected, revoked and fenced by the others', async () => {
    const [here, there] = await openThree()
    const { fence } = await claimOne(here, 's')
    expect(await there.leases.claim('w2', 10, 60_000)).toEqual([])
    const lost = once()
    here.events.watch('s', lost.call)
    await there.commit({ session_id: 's', events: [response('stop')], revoke_lease: true })
    await lost.called
    await expect(
      here.commit({ session_id: 's', fence, events: [thought('too late')] }),
    ).rejects.toMatchObject({ refusal: 'stale_lease' })
  })

  test('one of many processes consumes a grant, answers an item or reserves a key', async () => {
    const stores = await openThree()
    await stores[0].sessions.create(newSession('s'))
    await stores[0].commit({
      session_id: 's',
      events: [
        withRows(say('x'), {
          do: 'inbox.open',
          item: {
            id: 'i',
            kind: 'governance_gate',
            title: 'T',
            body: null,
            payload: {},
            expires_at: null,
            tool_call_id: null,
          },
        }),
      ],
      rows: [
        {
          do: 'grant.add',
          id: 'g',
          tool: 't',
          arguments_hash: 'h',
          granted_by: { kind: 'user', id: 'u' },
          expires_at: Number.MAX_SAFE_INTEGER,
        },
      ],
    })
    const won = async (act: (store: LogStore) => Promise<unknown>) =>
      (await Promise.allSettled([...stores, ...stores].map(act))).filter(
        ({ status }) => status === 'fulfilled',
      ).length
    expect(
      await won(store =>
        store.commit({
          session_id: 's',
          events: [],
          rows: [{ do: 'grant.consume', id: 'g', tool: 't', arguments_hash: 'h' }],
        }),
      ),
    ).toBe(1)
    expect(
      await won(store =>
        store.commit({
          session_id: 's',
          events: [],
          rows: [{ do: 'inbox.answer', id: 'i', decision: 'approve', status: 'responded' }],
        }),
      ),
    ).toBe(1)
    const begun = await Promise.all(
      stores.map(store =>
        store.accounts.beginIdempotent({ org_id: 'org_1', principal_id: 'p', key: 'k' }, 'body'),
      ),
    )
    expect(begun.filter(found => found === null)).toHaveLength(1)
  })

  test('processes that start together create one administrator', async () => {
    const place = await makeUnopened()
    const opened = await Promise.all(Array.from({ length: 3 }, () => open({ place })))
    const stores = opened.map(({ store }) => store)
    const admins = await Promise.all(
      stores.map((store, at) =>
        store.accounts.ensureFirstAdmin(
          { id: `org_${at}`, name: 'Home' },
          { id: `u${at}`, email: 'admin@example.org', name: 'Ada' },
        ),
      ),
    )
    expect(new Set(admins.map(admin => admin.id)).size).toBe(1)
  })
}
