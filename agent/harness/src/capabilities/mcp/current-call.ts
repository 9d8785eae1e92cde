/**
 * The call to which a question of a server belongs. A question within the answer to a call is that call's. A
 * server may also send it beside all answers: then it is the only call's that runs, unless an earlier one was
 * given up, whose question would reach a person of another session.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallContext } from './wrap-tool.ts'

export type CurrentCalls = {
  /** Runs the call. Messages that it sends and receives belong to it. */
  run<T>(context: CallContext, call: () => Promise<T>): Promise<T>
  /** Null: no person can be asked. */
  current(): CallContext | null
}

export function createCurrentCalls(): CurrentCalls {
  const within = new AsyncLocalStorage<CallContext>()
  const running = new Set<CallContext>()
  let hasGivenUp = false
  return {
    async run(context, call) {
      running.add(context)
      try {
        return await within.run(context, call)
      } finally {
        running.delete(context)
        hasGivenUp ||= context.signal.aborted
      }
    },
    current() {
      const [only, ...others] = running
      return within.getStore() ?? (hasGivenUp || others.length > 0 ? null : (only ?? null))
    },
  }
}
