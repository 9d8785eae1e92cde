/**
 * The order in which queued sessions are claimed, for every store: principals with fewer running turns first,
 * then roots before children, then the longest wait (contract 8.7).
 */

/** A session with a running turn, as far as it affects the order of the others. */
export type RunningTurn = {
  id: string
  /** The principal for whom it runs. */
  created_by: string
  /** The root of its tree; null for a root, and its own id for a scheduled run. */
  root_id: string | null
}
/** A session with work and without a lease. */
export type WaitingTurn = RunningTurn & { wake_at: number }

/** Limits of one claim in addition to its size; null: no limit. */
export type ClaimRules = {
  /** Maximum running children of one tree; the others wait. */
  tree_parallel: number | null
  /** Maximum running turns of one principal. */
  principal_turns: number | null
  /** Maximum children in this claim. */
  children: number | null
  /** Maximum scheduled runs of one principal at a time; absent: no limit. */
  principal_runs?: number | null
}
export const isRun = ({ id, root_id }: RunningTurn): boolean => root_id === id
export const NO_RULES: ClaimRules = { tree_parallel: null, principal_turns: null, children: null }

/**
 * Waiting principals considered by one claim; later claims consider the others. This bounds the cost of a
 * claim, however many wait.
 */
export const MAX_PRINCIPALS = 256

/** True if a rule other than the claim's size may exclude some of them. */
export const isLimited = (waiting: readonly WaitingTurn[], rules: ClaimRules): boolean =>
  rules.principal_turns !== null ||
  (typeof rules.principal_runs === 'number' && waiting.some(isRun)) ||
  ((rules.tree_parallel !== null || rules.children !== null) && waiting.some(each => each.root_id !== null))

export const least = (limit: number | null | undefined): number => limit ?? Number.POSITIVE_INFINITY
const olderFirst = (a: WaitingTurn, b: WaitingTurn): number =>
  a.wake_at - b.wake_at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

type Line = { running: number; roots: WaitingTurn[]; children: WaitingTurn[] }

/** At most `limit`, in the order in which they start. */
export function chooseFairly(
  waiting: readonly WaitingTurn[],
  running: readonly RunningTurn[],
  limit: number,
  rules: ClaimRules,
): WaitingTurn[] {
  const trees = countBy(running, each => each.root_id)
  const runs = countBy(running, each => (isRun(each) ? each.created_by : null))
  const lines = linesOf(waiting, running)
  const chosen: WaitingTurn[] = []
  let childrenLeft = least(rules.children)
  const mayBegin = (turn: WaitingTurn): boolean =>
    turn.root_id === null ||
    (childrenLeft > 0 &&
      (trees.get(turn.root_id) ?? 0) < least(rules.tree_parallel) &&
      !(isRun(turn) && (runs.get(turn.created_by) ?? 0) >= least(rules.principal_runs)))

  while (chosen.length < limit) {
    let best: { line: Line; turn: WaitingTurn } | null = null
    for (const line of lines.values()) {
      if (line.running >= least(rules.principal_turns)) continue
      const turn = line.roots[0] ?? line.children.find(mayBegin)
      if (turn !== undefined && (best === null || isBefore(line, turn, best))) best = { line, turn }
    }
    if (best === null) break
    const { line, turn } = best
    chosen.push(turn)
    line.running += 1
    if (turn.root_id === null) line.roots.shift()
    else {
      line.children.splice(line.children.indexOf(turn), 1)
      trees.set(turn.root_id, (trees.get(turn.root_id) ?? 0) + 1)
      if (isRun(turn)) runs.set(turn.created_by, (runs.get(turn.created_by) ?? 0) + 1)
      childrenLeft -= 1
    }
  }
  return chosen
}

function isBefore(line: Line, turn: WaitingTurn, best: { line: Line; turn: WaitingTurn }): boolean {
  if (line.running !== best.line.running) return line.running < best.line.running
  const isRoot = turn.root_id === null
  return isRoot === (best.turn.root_id === null) ? olderFirst(turn, best.turn) < 0 : isRoot
}

function linesOf(waiting: readonly WaitingTurn[], running: readonly RunningTurn[]): Map<string, Line> {
  const counts = countBy(running, each => each.created_by)
  const lines = new Map<string, Line>()
  for (const turn of waiting.toSorted(olderFirst)) {
    const line = lines.get(turn.created_by) ?? {
      running: counts.get(turn.created_by) ?? 0,
      roots: [],
      children: [],
    }
    lines.set(turn.created_by, line)
    ;(turn.root_id === null ? line.roots : line.children).push(turn)
  }
  return lines
}

/** Counts items per key; null keys are not counted. */
export function countBy(
  turns: readonly RunningTurn[],
  of: (turn: RunningTurn) => string | null,
): Map<string, number> {
  const counts = new Map<string, number>()
  for (const turn of turns) {
    const key = of(turn)
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}
