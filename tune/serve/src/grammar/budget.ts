/**
 * Cost limits for building one grammar, or one mask of it. Schemas and expressions come from clients, and a
 * short one may stand for endless work, which is rejected beyond a limit. Building never yields, so there is
 * one budget at a time, and functions need not pass it on.
 */
import { GrammarError } from './grammar-error.ts'
import type { Expression } from './grammar.ts'

/** Characters of a source as JSON. */
export const MAX_SOURCE_LENGTH = 65_536
/** Maximum nesting of a source, or of what is built from it. */
export const MAX_DEPTH = 256
/** At most 0.2 s of combining and comparing, while other requests wait, and 60 MB of nodes. */
const MAX_WORK = { steps: 300_000, nodes: 300_000 }
const WHAT = { steps: 'takes too long to compile', nodes: 'has too many parts' }

type Budget = { steps: number; nodes: number; depth: number; cache: Map<object, Map<string, Expression>> }

const create = (): Budget => ({ steps: 0, nodes: 0, depth: 0, cache: new Map() })
let current: Budget | undefined

/** Counts work of the grammar in progress. Throws if it is too much. */
export function charge(what: 'steps' | 'nodes', count: number): void {
  if (!current) return
  current[what] += count
  if (current[what] > MAX_WORK[what])
    throw new GrammarError(`it ${WHAT[what]} (maximum: ${MAX_WORK[what]} ${what}); simplify it`)
}

const tooDeep = () => new GrammarError(`it is nested deeper than the maximum of ${MAX_DEPTH} levels`)

/** Runs one level of a recursion. */
export function nested<T>(run: () => T): T {
  if (!current) return run()
  if (current.depth >= MAX_DEPTH) throw tooDeep()
  current.depth++
  try {
    return run()
  } finally {
    current.depth--
  }
}

/** Caches an expression that one grammar needs many times, by its owner and a name. */
export function once(owner: object, name: string, make: () => Expression): Expression {
  const known = current?.cache.get(owner) ?? new Map<string, Expression>()
  current?.cache.set(owner, known)
  const expression = known.get(name) ?? make()
  known.set(name, expression)
  return expression
}

/** Rejects a source that is too long or too deep, before any recursion into it. */
export function checkSource(source: unknown): void {
  let size = 0
  for (let level: unknown[] = [source], depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw tooDeep()
    const below: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) {
        size += String(value).length + 1
        continue
      }
      for (const [key, inner] of Object.entries(value)) {
        if (!Array.isArray(value)) size += key.length + 1
        below.push(inner)
      }
    }
    if (size > MAX_SOURCE_LENGTH)
      throw new GrammarError(`it is longer than the maximum of ${MAX_SOURCE_LENGTH} characters`)
    level = below
  }
}

/** Builds a grammar, or a mask of one, within its own budget. */
export function withBudget<T>(make: () => T): T {
  const before = current
  current = create()
  try {
    return make()
  } finally {
    current = before
  }
}
