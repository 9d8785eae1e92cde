/** Finds the variables that a part of a template reads. */
import type { Body, Expression, Statement } from './nodes.ts'

const known = new WeakMap<object, ReadonlySet<string>>()

/** Names of all variables that the part reads, also those that it sets. */
export function usedNames(part: Body | Expression): ReadonlySet<string> {
  const found = known.get(part)
  if (found) return found
  const names = new Set<string>()
  collect(part, names)
  known.set(part, names)
  return names
}

function collect(node: unknown, names: Set<string>): void {
  if (Array.isArray(node)) {
    for (const one of node) collect(one, names)
    return
  }
  if (typeof node !== 'object' || node === null) return
  const { kind, name } = node as { kind?: unknown; name?: unknown }
  if (kind === 'name' && typeof name === 'string') names.add(name)
  // A target is set, not read.
  for (const [key, child] of Object.entries(node)) if (key !== 'target') collect(child, names)
}

/** The bodies of all `{% block %}` statements by name, also of those inside of others. */
export function blocksOf(body: Body): Map<string, Body> {
  return new Map(
    body.flatMap(statement => [
      ...bodiesOf(statement).flatMap(inner => [...blocksOf(inner)]),
      ...(statement.kind === 'block' ? [[statement.name, statement.body] as const] : []),
    ]),
  )
}

function bodiesOf(statement: Statement): Body[] {
  const own = 'body' in statement ? [statement.body] : []
  const branches = statement.kind === 'if' ? statement.branches.map(({ body }) => body) : []
  return [...own, ...branches, ...('otherwise' in statement ? [statement.otherwise] : [])]
}
