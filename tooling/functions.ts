/** The functions of a source file with their names and lengths, for the gate on sizes. */
import { parseSync } from 'vite'

export type FunctionLength = { name: string; lines: number }

type Node = { type: string; start: number; end: number; [key: string]: unknown }

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/** What a node calls the function that stands in it: a declaration, a variable, a property, a method. */
function nameOf(node: Node): string | undefined {
  const named = [node['id'], node['key']].find(isNode)
  return typeof named?.['name'] === 'string' ? named['name'] : undefined
}

export function functionsOf(path: string, text: string): FunctionLength[] {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const found: FunctionLength[] = []

  function visit(node: Node, name: string): void {
    const inner = nameOf(node) ?? name
    if (FUNCTIONS.has(node.type))
      found.push({ name: inner, lines: text.slice(node.start, node.end).split('\n').length })
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, inner)
  }

  if (isNode(program)) visit(program, '(module)')
  return found
}
