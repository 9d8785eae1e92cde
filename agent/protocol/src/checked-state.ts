/**
 * A state in one field that changes only as a table allows: a transition that the table does not list is a
 * bug, and throws. Code that uses it lists the states and their meanings in its head comment.
 */
export type CheckedState<S extends string> = {
  current(): S
  is(...states: readonly S[]): boolean
  to(next: S): void
}

/** Throws where the table does not list the move. */
export function checkMove<S extends string>(
  what: string,
  moves: Readonly<Record<S, readonly NoInfer<S>[]>>,
  from: S,
  to: NoInfer<S>,
): void {
  if (!moves[from].includes(to)) throw new Error(`[${what}] cannot go from ${from} to ${to}`)
}

export function checkedState<S extends string>(
  what: string,
  initial: NoInfer<S>,
  moves: Readonly<Record<S, readonly NoInfer<S>[]>>,
): CheckedState<S> {
  let state: S = initial
  return {
    current: () => state,
    is: (...states) => states.includes(state),
    to(next) {
      checkMove(what, moves, state, next)
      state = next
    },
  }
}
