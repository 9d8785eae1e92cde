/**
 * JSON Schemas as JSON text, cached: those of the tools are most of a request, and identical in every one.
 */

const written = new WeakMap<object, string>()

/** Serialized once per schema, which must not be modified. */
export function schemaText(schema: object): string {
  const known = written.get(schema)
  if (known !== undefined) return known
  const text = JSON.stringify(schema)
  written.set(schema, text)
  return text
}
