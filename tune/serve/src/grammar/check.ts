/**
 * Makes a grammar one that a machine can follow to an end: no unknown rules, no dead ends, no left recursion.
 */
import { choice, GrammarError, NEVER, repeat, sequence, type Expression, type Grammar } from './expression.ts'

/** Rules that some finite text satisfies. */
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
        return e.least === 0 || ends(e.of)
      case 'rule':
        return productive.has(e.name)
    }
  }
  let before = -1
  while (productive.size > before) {
    before = productive.size
    for (const [name, body] of rules) if (ends(body)) productive.add(name)
  }
  return productive
}

/** The expression without what can never be finished. */
function prune(e: Expression, productive: ReadonlySet<string>): Expression {
  switch (e.kind) {
    case 'bytes':
      return e.set.includes(1) ? e : NEVER
    case 'sequence': {
      const parts = e.parts.map(part => prune(part, productive))
      return parts.includes(NEVER) ? NEVER : sequence(...parts)
    }
    case 'choice': {
      const options = e.options.map(option => prune(option, productive)).filter(option => option !== NEVER)
      return options.length === 0 ? NEVER : choice(options)
    }
    case 'repeat': {
      const of = prune(e.of, productive)
      if (of !== NEVER) return repeat(of, e.least, e.most)
      return e.least === 0 ? sequence() : NEVER
    }
    case 'rule':
      return productive.has(e.name) ? e : NEVER
  }
}

function listRules(e: Expression): string[] {
  switch (e.kind) {
    case 'bytes':
      return []
    case 'sequence':
      return e.parts.flatMap(listRules)
    case 'choice':
      return e.options.flatMap(listRules)
    case 'repeat':
      return listRules(e.of)
    case 'rule':
      return [e.name]
  }
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
        return e.least === 0 || isEmpty(e.of)
      case 'rule':
        return empty.has(e.name)
    }
  }
  let before = -1
  while (empty.size > before) {
    before = empty.size
    for (const [name, body] of rules) if (isEmpty(body)) empty.add(name)
  }
  return isEmpty
}

/** Rules that an expression may begin with, before any byte. */
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

function refuseLeftRecursion(rules: Grammar['rules']): void {
  const isEmpty = emptyRules(rules)
  const done = new Set<string>()
  const open = new Set<string>()
  const visit = (name: string) => {
    if (done.has(name)) return
    if (open.has(name))
      throw new GrammarError(
        `rule ${JSON.stringify(name)} begins with itself; write the repetition as ( … )*`,
      )
    open.add(name)
    const body = rules.get(name)
    if (body) firstRules(body, isEmpty).forEach(visit)
    open.delete(name)
    done.add(name)
  }
  for (const name of rules.keys()) visit(name)
}

/** The grammar as a machine can follow it; throws where no text satisfies it. */
export function checkGrammar({ root, rules }: Grammar): Grammar {
  if (!rules.has(root)) throw new GrammarError(`there is no rule ${JSON.stringify(root)}`)
  for (const [name, body] of rules)
    for (const used of listRules(body))
      if (!rules.has(used))
        throw new GrammarError(`rule ${JSON.stringify(name)} uses ${JSON.stringify(used)}, which is no rule`)
  const productive = productiveRules(rules)
  if (!productive.has(root)) throw new GrammarError('no finite text satisfies it')
  const pruned = new Map([...rules].map(([name, body]) => [name, prune(body, productive)]))
  refuseLeftRecursion(pruned)
  return { root, rules: pruned }
}
