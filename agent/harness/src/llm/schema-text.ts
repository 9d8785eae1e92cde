/** JSON Schemas as JSON text. Those of the tools are most of a request, and the same in every one of them. */

const written = new WeakMap<object, string>()

/** Written once for a schema, which nobody changes. */
export function schemaText(schema: object): string {
  const known = written.get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(schema)
  written.set(schema, text)
  return text
}
