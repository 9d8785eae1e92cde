/** A store whose process dies at its n-th write: before the write, or after it and before its answer. */
import type { LogStore } from '@cairn/log'

export type Death = { at: number; when: 'before' | 'after' }

class Dead extends Error {
  override readonly name = 'Dead'
}

/** `calls` counts; with `death` null nobody dies. */
export function mortalStore(store: LogStore, death: Death | null) {
  let calls = 0
  let isDead = false
  const { promise: died, resolve: die } = Promise.withResolvers<void>()
  const guarded =
    (target: object, method: (...args: unknown[]) => unknown) =>
    async (...args: unknown[]): Promise<unknown> => {
      if (isDead) throw new Dead()
      calls += 1
      const isLast = death !== null && calls === death.at
      if (isLast && death.when === 'before') {
        isDead = true
        die()
        throw new Dead()
      }
      const answer = await method.apply(target, args)
      if (isLast) {
        isDead = true
        die()
        throw new Dead()
      }
      return answer
    }
  /** Looks at what there is are no boundaries; leases come with time and not with the message. */
  const isWrite = (name: string): boolean =>
    /^(?:receive|drop|retry|see|tell|openConv|advance|postpone|begin|settle|plan|put|close|commit|createSession)/.test(
      name,
    )
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name, receiver) {
        const value: unknown = Reflect.get(of, name, receiver)
        if (name === 'channels') return wrap(value as object)
        if (typeof value !== 'function') return value
        const method = value as (...args: unknown[]) => unknown
        if (isWrite(String(name))) return guarded(of, method)
        return (...args: unknown[]) => {
          if (isDead && !/^(?:watch|release)/.test(String(name))) throw new Dead()
          return method.apply(of, args)
        }
      },
    })
  return { store: wrap(store), calls: () => calls, died }
}
