/**
 * The store as a process sees it that dies at its nth commit (of those that count): just before it, or when
 * it is on disk and nobody heard of it.
 */
import type { Commit, LogStore } from '@cairn/log'

export type When = 'before' | 'after'

export function dyingStore(
  store: LogStore,
  nth: number,
  when: When,
  counts: (commit: Commit) => boolean = () => true,
): { store: LogStore; died: Promise<void>; isDead: () => boolean; commits: () => number } {
  const death = Promise.withResolvers<void>()
  let commits = 0
  let dead = false
  const die = (): never => {
    dead = true
    death.resolve()
    throw new Error('the process is dead')
  }
  const alive =
    <A extends unknown[], R>(run: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> =>
      dead ? die() : run(...args)
  return {
    died: death.promise,
    isDead: () => dead,
    commits: () => commits,
    store: {
      ...store,
      events: { ...store.events, read: alive(store.events.read) },
      sessions: { ...store.sessions, get: alive(store.sessions.get) },
      leases: {
        ...store.leases,
        claim: alive(store.leases.claim),
        renew: alive(store.leases.renew),
        release: alive(store.leases.release),
        get: alive(store.leases.get),
      },
      grants: { find: alive(store.grants.find) },
      artifacts: { ...store.artifacts, list: alive(store.artifacts.list) },
      timers: { claim: alive(store.timers.claim) },
      browsers: {
        browser: alive(id => store.browsers.browser(id)),
        silent: alive(() => store.browsers.silent()),
        renew: alive((...args) => store.browsers.renew(...args)),
        extendControl: alive((...args) => store.browsers.extendControl(...args)),
        keepState: alive((...args) => store.browsers.keepState(...args)),
        state: alive(id => store.browsers.state(id)),
      },
      commit: alive(async commit => {
        if (!counts(commit)) return store.commit(commit)
        const mine = commits++
        if (mine !== nth) return store.commit(commit)
        if (when === 'after') await store.commit(commit)
        return die()
      }),
    },
  }
}
