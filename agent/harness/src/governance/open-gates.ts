/** Gates that wait for a decision: a call that is made again meanwhile opens no second item. */

export type OpenGates = {
  /** The call whose undecided item covers this one, or null. */
  find(tool: string, argumentsHash: string): Promise<string | null>
  /** Looking and opening are one: calls that run side by side take turns here. */
  inTurn<T>(run: () => Promise<T>): Promise<T>
}

export function openGates(find: OpenGates['find']): OpenGates {
  let last: Promise<unknown> = Promise.resolve()
  return {
    find,
    inTurn(run) {
      const mine = last.then(run)
      // Whoever comes next waits for the end, not for the outcome, which is ours to report.
      last = mine.then(() => {}, () => {})
      return mine
    },
  }
}
