/**
 * The simplest value that matches a JSON Schema: a scripted model's answer when a schema is requested and no
 * rule matches.
 */
export function schemaExample(schema: Record<string, unknown>): unknown {
  if ('const' in schema) return schema['const']
  if ('default' in schema) return schema['default']
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  const branches = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']
  if (Array.isArray(branches) && isObject(branches[0])) return schemaExample(branches[0])
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  switch (type) {
    case 'string':
      return 'x'.repeat(numberOf(schema['minLength']))
    case 'integer':
    case 'number':
      return numberOf(schema['minimum'])
    case 'boolean':
      return false
    case 'null':
      return null
    case 'array':
      return Array.from({ length: numberOf(schema['minItems']) }, () =>
        isObject(schema['items']) ? schemaExample(schema['items']) : null,
      )
    default: {
      const properties = isObject(schema['properties']) ? schema['properties'] : {}
      const required = Array.isArray(schema['required']) ? schema['required'] : Object.keys(properties)
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => required.includes(name))
          .map(([name, value]) => [name, isObject(value) ? schemaExample(value) : null]),
      )
    }
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)
