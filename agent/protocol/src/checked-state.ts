/**
 * A state held in one field, which changes only as a table allows. A transition that is not in the table is a
 * bug and throws. Code that uses it documents the states in its head comment.
 */
export type CheckedState<S extends string> = {
  current(): S
  is(...states: readonly S[]): boolean
  to(next: S): void
}

/** Throws if the table does not list the transition. */
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
