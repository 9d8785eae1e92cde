/** Callbacks by subject, each called at most once per microtask, however often its subject changed. */

export type Listeners<A extends unknown[]> = {
  add(subject: string, listener: (...args: A) => void): () => void
  has(subject: string): boolean
  /** Subjects that have listeners. */
  subjects(): string[]
  call(subject: string, ...args: A): void
}

/** Callbacks that are called synchronously, every time. One that throws is a bug and ends the process. */
export function createCallbacks<A extends unknown[]>() {
  const callbacks = new Map<symbol, (...args: A) => void>()
  return {
    add(callback: (...args: A) => void): () => void {
      const id = Symbol('callback')
      callbacks.set(id, callback)
      return () => void callbacks.delete(id)
    },
    call(...args: A): void {
      for (const callback of callbacks.values()) callback(...args)
    },
  }
}

export function createListeners<A extends unknown[]>(
  emptied: (subject: string) => void = () => undefined,
): Listeners<A> {
  const bySubject = new Map<string, Map<symbol, (...args: A) => void>>()
  const due = new Map<string, { subject: string; args: A }>()

  function callAll(): void {
    const now = [...due.values()]
    due.clear()
    // A listener that throws is a bug: its error surfaces separately and does not affect other listeners.
    for (const { subject, args } of now)
      for (const listener of bySubject.get(subject)?.values() ?? []) queueMicrotask(() => listener(...args))
  }

  return {
    add(subject, listener) {
      const id = Symbol(subject)
      const found = bySubject.get(subject) ?? new Map<symbol, (...args: A) => void>()
      bySubject.set(subject, found.set(id, listener))
      return () => {
        found.delete(id)
        if (found.size > 0 || bySubject.get(subject) !== found) return
        bySubject.delete(subject)
        emptied(subject)
      }
    },
    has: subject => bySubject.has(subject),
    subjects: () => [...bySubject.keys()],
    call(subject, ...args) {
      if (!bySubject.has(subject)) return
      if (due.size === 0) queueMicrotask(callAll)
      due.set([subject, ...args].join(' '), { subject, args })
    },
  }
}
