/**
 * Checks and simplifies a grammar so that a machine can follow it to an end: no unknown rules, no dead ends,
 * no left recursion.
 */
import { MAX_DEPTH, nested, charge } from './budget.ts'
import { choice, GrammarError, inOrder, NEVER, repeat, sequence } from './expression.ts'
import type { Expression, Grammar } from './grammar.ts'

/** Maximum depth of expressions. One level of a source becomes several levels of expressions. */
const MAX_EXPRESSION_DEPTH = 4 * MAX_DEPTH

/** Adds the names of rules for which `holds`, until a fixed point. */
function addWhile(rules: Grammar['rules'], names: Set<string>, holds: (e: Expression) => boolean): void {
  let left = [...rules]
  for (let before = -1; names.size > before;) {
    before = names.size
    charge('steps', left.length)
    for (const [name, body] of left) if (holds(body)) names.add(name)
    left = left.filter(([name]) => !names.has(name))
  }
}

/** Rules that match some finite text. */
function productiveRules(rules: Grammar['rules']): Set<string> {
  const productive = new Set<string>()
  const ends = (e: Expression): boolean => {
    switch (e.kind) {
      case 'bytes':
        return e.set.includes(1)
      case 'sequence':
        return e.parts.every(ends)
      case 'choice':
        return e.options.some(ends)
      case 'repeat':
        return e.min === 0 || ends(e.of)
      case 'rule':
        return productive.has(e.name)
    }
  }
  addWhile(rules, productive, ends)
  return productive
}

/** Removes parts of expressions that can never be completed. Shared parts stay shared. */
function createPruner(productive: ReadonlySet<string>): (e: Expression) => Expression {
  const pruned = new Map<Expression, Expression>()
  const make = (e: Expression): Expression => {
    switch (e.kind) {
      case 'bytes':
        return e.set.includes(1) ? e : NEVER
      case 'sequence': {
        const parts = e.parts.map(prune)
        return parts.includes(NEVER) ? NEVER : inOrder(parts)
      }
      case 'choice': {
        const options = e.options.map(prune).filter(option => option !== NEVER)
        return options.length === 0 ? NEVER : choice(options)
      }
      case 'repeat': {
        const of = prune(e.of)
        if (of !== NEVER) return repeat(of, e.min, e.max)
        return e.min === 0 ? sequence() : NEVER
      }
      case 'rule':
        return productive.has(e.name) ? e : NEVER
    }
  }
  const prune = (e: Expression): Expression => {
    const known = pruned.get(e) ?? make(e)
    pruned.set(e, known)
    return known
  }
  return prune
}

const partsOf = (e: Expression): readonly Expression[] =>
  e.kind === 'sequence' ? e.parts : e.kind === 'choice' ? e.options : e.kind === 'repeat' ? [e.of] : []

/** Names that an expression uses. Rejects an expression too deep for recursive functions. */
function listRules(body: Expression): Set<string> {
  const names = new Set<string>()
  let level = [body]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_EXPRESSION_DEPTH)
      throw new GrammarError(`its parts are nested deeper than the maximum of ${MAX_EXPRESSION_DEPTH} levels`)
    const below = new Set<Expression>()
    for (const e of level) {
      if (e.kind === 'rule') names.add(e.name)
      for (const part of partsOf(e)) below.add(part)
    }
    level = [...below]
  }
  return names
}

function emptyRules(rules: Grammar['rules']): (e: Expression) => boolean {
  const empty = new Set<string>()
  const isEmpty = (e: Expression): boolean => {
    switch (e.kind) {
      case 'bytes':
        return false
      case 'sequence':
        return e.parts.every(isEmpty)
      case 'choice':
        return e.options.some(isEmpty)
      case 'repeat':
        return e.min === 0 || isEmpty(e.of)
      case 'rule':
        return empty.has(e.name)
    }
  }
  addWhile(rules, empty, isEmpty)
  return isEmpty
}

/** Rules that an expression may start with, before any byte. */
function firstRules(e: Expression, isEmpty: (e: Expression) => boolean): string[] {
  switch (e.kind) {
    case 'bytes':
      return []
    case 'sequence': {
      const first = e.parts.findIndex(part => !isEmpty(part))
      return e.parts.slice(0, first < 0 ? undefined : first + 1).flatMap(part => firstRules(part, isEmpty))
    }
    case 'choice':
      return e.options.flatMap(option => firstRules(option, isEmpty))
    case 'repeat':
      return firstRules(e.of, isEmpty)
    case 'rule':
      return [e.name]
  }
}

function refuseLeftRecursion(rules: Grammar['rules'], isEmpty: (e: Expression) => boolean): void {
  const done = new Set<string>()
  const open = new Set<string>()
  const visit = (name: string): void => {
    if (done.has(name)) return
    if (open.has(name))
      throw new GrammarError(
        `rule ${JSON.stringify(name)} begins with itself; write the repetition as ( … )*`,
      )
    open.add(name)
    const body = rules.get(name)
    if (body) nested(() => firstRules(body, isEmpty).forEach(visit))
    open.delete(name)
    done.add(name)
  }
  for (const name of rules.keys()) visit(name)
}

/** Maximum number of readings of one text that are followed at once. */
export const MAX_WAYS = 4096

/** Rejects a rule that has too many ways to begin, because no machine could follow it. */
function refuseManyWays(rules: Grammar['rules'], isEmpty: (e: Expression) => boolean): void {
  const known = new Map<string, number>()
  const ways = (e: Expression): number => {
    switch (e.kind) {
      case 'bytes':
        return 1
      case 'sequence': {
        const first = e.parts.findIndex(part => !isEmpty(part))
        return e.parts.slice(0, first < 0 ? undefined : first + 1).reduce((sum, part) => sum + ways(part), 1)
      }
      case 'choice':
        return e.options.reduce((sum, option) => sum + ways(option), 1)
      case 'repeat':
        return 1 + ways(e.of)
      case 'rule':
        return 1 + ofRule(e.name)
    }
  }
  const ofRule = (name: string): number => {
    const before = known.get(name)
    if (before !== undefined) return before
    const body = rules.get(name)
    const count = body ? nested(() => ways(body)) : 0
    known.set(name, count)
    return count
  }
  for (const name of rules.keys())
    if (ofRule(name) > MAX_WAYS)
      throw new GrammarError(`it has more than ${MAX_WAYS} alternatives at one position; reduce them`)
}

/** The grammar in a form that a machine can follow. Throws if no text matches it. */
export function checkGrammar({ root, rules }: Grammar): Grammar {
  if (!rules.has(root)) throw new GrammarError(`rule ${JSON.stringify(root)} is missing`)
  for (const [name, body] of rules)
    for (const used of listRules(body))
      if (!rules.has(used))
        throw new GrammarError(
          `rule ${JSON.stringify(name)} uses ${JSON.stringify(used)}, which is not defined`,
        )
  const productive = productiveRules(rules)
  if (!productive.has(root)) throw new GrammarError('no finite text matches it')
  const prune = createPruner(productive)
  const pruned = new Map([...rules].map(([name, body]) => [name, prune(body)]))
  const isEmpty = emptyRules(pruned)
  refuseLeftRecursion(pruned, isEmpty)
  refuseManyWays(pruned, isEmpty)
  return { root, rules: pruned }
}
