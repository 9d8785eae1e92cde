/**
 * Forms for connections that administrators create in the web UI. Fields derive from the schema of
 * cairn.yaml: a key `x_env` of the file, which names a secret, becomes a secret `x` of the form.
 */
import { z } from 'zod'
import { ChannelConfig } from './channels.ts'

const ChannelField = z.object({
  key: z.string().describe('key of the settings or the secrets; a dot separates an object from its key'),
  kind: z.enum(['text', 'secret', 'choice', 'flag', 'number', 'list']),
  required: z.boolean(),
  hint: z.string(),
  choices: z.array(z.string()).optional(),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
})
type ChannelField = z.infer<typeof ChannelField>
export const ChannelForm = z.object({ platform: z.string(), fields: z.array(ChannelField) })
export type ChannelForm = z.infer<typeof ChannelForm>

type Node = {
  type?: string
  const?: unknown
  enum?: string[]
  default?: unknown
  description?: string
  properties?: Record<string, Node>
  required?: string[]
}

/** Only the operator sets where platform calls go: a form could point them at internal hosts. */
const OPERATORS: ReadonlySet<string> = new Set(['platform', 'api_url', 'api_root'])
/** Email servers are hosts too, so email connections exist in cairn.yaml only. */
const CONFIGURED: ReadonlySet<unknown> = new Set(['email'])
const SECRET = /_env$/

/** One form for each platform that can be connected in the web UI. */
export function channelForms(): ChannelForm[] {
  const { oneOf = [] } = z.toJSONSchema(ChannelConfig, { io: 'input', unrepresentable: 'any' }) as {
    oneOf?: Node[]
  }
  return oneOf
    .map(node => ({
      platform: String(node.properties?.['platform']?.const),
      fields: fieldsOf(node, ''),
    }))
    .filter(({ platform }) => !CONFIGURED.has(platform))
}

const fieldsOf = ({ properties = {}, required = [] }: Node, prefix: string): ChannelField[] =>
  Object.entries(properties).flatMap(([key, node]) =>
    prefix === '' && OPERATORS.has(key) ? [] : fieldOf(node, prefix + key, required.includes(key)),
  )

/** Types that a form cannot represent are left to cairn.yaml. */
function fieldOf(node: Node, key: string, required: boolean): ChannelField[] {
  const { description: hint = '' } = node
  const kind = kindOf(node, key)
  if (kind === 'object') return fieldsOf({ ...node, required: [] }, `${key}.`)
  if (kind === null) return []
  const choices = node.const === undefined ? node.enum : [String(node.const)]
  const preset = node.default ?? node.const
  return [
    {
      key: kind === 'secret' ? key.replace(SECRET, '') : key,
      kind,
      required: required && preset === undefined,
      hint: kind === 'secret' ? hint.replace(/^holds /, '') : hint,
      ...(choices === undefined ? {} : { choices }),
      ...(isPlain(preset) ? { default: preset } : {}),
    },
  ]
}

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

function kindOf({ type, enum: choices, const: only, properties }: Node, key: string) {
  if (SECRET.test(key)) return 'secret'
  if (choices !== undefined || only !== undefined) return 'choice'
  if (type === 'object') return properties === undefined ? null : 'object'
  if (type === 'boolean') return 'flag'
  if (type === 'number' || type === 'integer') return 'number'
  if (type === 'array') return 'list'
  return type === 'string' ? 'text' : null
}

/** The name of a form's secret, used in place of an environment variable. */
export const secretName = (key: string): string => key.replaceAll('.', '_')

/**
 * Settings in the shape of cairn.yaml; secrets are referenced by `secretName`. Null if a key is reserved to
 * the operator or names an environment variable.
 */
export function composeChannel(
  settings: Readonly<Record<string, unknown>>,
  secrets: readonly string[],
): Record<string, unknown> | null {
  const isForeign = (key: string): boolean => key !== 'platform' && OPERATORS.has(key)
  if (CONFIGURED.has(settings['platform']) || Object.keys(settings).some(isForeign)) return null
  if (/_env"\s*:/.test(JSON.stringify(settings))) return null
  const composed = structuredClone(settings) as Record<string, unknown>
  for (const key of secrets) {
    const path = key.split('.')
    const last = path.pop() ?? key
    let place = composed
    for (const part of path) {
      const inner = place[part] ?? {}
      if (typeof inner !== 'object') return null
      place = place[part] = inner as Record<string, unknown>
    }
    place[`${last}_env`] = secretName(key)
  }
  return composed
}
