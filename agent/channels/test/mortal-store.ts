/**
 * A store whose process dies at one of its writes: before the write, or after it and before its answer. Or
 * the write fails once and the process lives.
 */
import type { LogStore } from '@cairn/log'

/** The `nth` write of that name. */
export type Death = { call: string; nth: number; when: 'before' | 'after' | 'fails' }

class Dead extends Error {
  override readonly name = 'Dead'
}

/** Reads are no boundaries; leases and pruning depend on time and not on a message. */
const WRITES =
  /^(?:add|create|ensure|receive|drop|retry|defer|see|tell|countWrong|use|openConv|advance|postpone|begin|settle|plan|put|set|save|close|commit|movePart|releaseHeld|retarget|recover|refuse|endRedo)/
/** Released at once, also by a dead process. */
const WATCHES = /^watch/

const GROUPS: ReadonlySet<string | symbol> = new Set<keyof LogStore>([
  'accounts',
  'artifacts',
  'channels',
  'events',
  'grants',
  'inbox',
  'leases',
  'sessions',
  'snapshots',
])

/** `calls`: the names of the writes, in order. With `death` null the process survives. */
export function mortalStore(store: LogStore, death: Death | null) {
  const calls: string[] = []
  let state: 'lives' | 'dead' = 'lives'
  let isReached = false
  const die = (): Promise<never> => {
    state = 'dead'
    return Promise.reject(new Dead())
  }
  type Method = (...args: unknown[]) => unknown
  async function write(of: object, name: string, method: Method, args: unknown[]): Promise<unknown> {
    calls.push(name)
    const nth = calls.filter(call => call === name).length
    const isHere = death?.call === name && death.nth === nth
    if (!isHere) return method.apply(of, args)
    isReached = true
    if (death.when === 'fails') throw new Error('the store failed once')
    if (death.when === 'before') return die()
    await method.apply(of, args)
    return die()
  }
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name, receiver) {
        const value: unknown = Reflect.get(of, name, receiver)
        if (GROUPS.has(name)) return wrap(value as object)
        if (typeof value !== 'function') return value
        const method = value as Method
        return (...args: unknown[]) => {
          if (WATCHES.test(String(name))) return method.apply(of, args)
          if (state === 'dead') return Promise.reject(new Dead())
          return WRITES.test(String(name)) ? write(of, String(name), method, args) : method.apply(of, args)
        }
      },
    })
  return { store: wrap(store), calls, isDead: () => state === 'dead', isReached: () => isReached }
}

/** Every fault at every write of a run without faults. */
export function deathsOf(calls: readonly string[]): Death[] {
  const counts = new Map<string, number>()
  return calls.flatMap(call => {
    const nth = (counts.get(call) ?? 0) + 1
    counts.set(call, nth)
    return (['before', 'after', 'fails'] as const).map(when => ({ call, nth, when }))
  })
}
