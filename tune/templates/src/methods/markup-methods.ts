/**
 * Methods of markupsafe's `Markup`, a `str` that counts as escaped: arguments are escaped, and a text that
 * results counts as escaped, too.
 */
import type { Runtime } from '../values.ts'
import { escapeHtml } from '../text/html.ts'
import { Markup, PythonFunction, Tuple, isText, textOf, type Arguments, type Value } from '../values.ts'
import { TEXT_METHODS } from './text-methods.ts'
import type { Method } from './table.ts'

/** Methods whose arguments `Markup` leaves alone. */
const UNESCAPED: readonly string[] = ['startswith', 'endswith', 'find', 'rfind', 'index', 'rindex', 'count']

const escaped = (value: Value): Value => {
  if (isText(value)) return escapeHtml(value)
  return Array.isArray(value) ? value.map(escaped) : value
}

function marked(value: Value): Value {
  if (typeof value === 'string') return new Markup(value)
  if (Array.isArray(value)) return value.map(marked)
  return value instanceof Tuple ? new Tuple(value.items.map(marked)) : value
}

const escapedArguments = ({ positional, named }: Arguments): Arguments => ({
  positional: positional.map(escaped),
  named: new Map([...named].map(([name, value]) => [name, escaped(value)])),
})

export function markupMethod(self: Markup, name: string): PythonFunction | undefined {
  const found = TEXT_METHODS.get(name)
  if (!found) return undefined
  const run: Method<string> = (text, args, runtime: Runtime) => {
    const made = found(text, UNESCAPED.includes(name) ? args : escapedArguments(args), runtime)
    return UNESCAPED.includes(name) ? made : marked(made)
  }
  return new PythonFunction(name, (args, runtime) => run(textOf(self), args, runtime), 'method')
}
