/**
 * Fills the templates of a declared undo: `{{arguments.x}}` and `{{result.x}}`, with dots for objects and
 * lists.
 */

type Sources = { arguments: unknown; result: unknown }
const TEMPLATE = /\{\{\s*(arguments|result)((?:\.[\w-]+)*)\s*\}\}/g

function find(sources: Sources, source: string, path: string): unknown {
  let value = sources[source as keyof Sources]
  for (const key of path.split('.').slice(1)) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined
  }
  if (value === undefined) throw new Error(`${source}${path} does not exist`)
  return value
}

function fill(template: unknown, sources: Sources): unknown {
  if (Array.isArray(template)) return template.map(item => fill(item, sources))
  if (typeof template === 'object' && template !== null)
    return Object.fromEntries(Object.entries(template).map(([key, item]) => [key, fill(item, sources)]))
  if (typeof template !== 'string') return template
  const [only] = template.matchAll(TEMPLATE)
  // A template alone keeps the type of its value; one within a text becomes text.
  if (only !== undefined && only[0] === template) return find(sources, String(only[1]), String(only[2]))
  return template.replace(TEMPLATE, (_, source: string, path: string) => {
    const value = find(sources, source, path)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

/** Throws, naming the template, if the call has no such value. */
export const fillUndoArguments = (
  templates: Record<string, unknown>,
  sources: Sources,
): Record<string, unknown> => fill(templates, sources) as Record<string, unknown>
