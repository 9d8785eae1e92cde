/**
 * Judges every frame of an ACP connection, both ways, by the JSON Schema that the protocol's own SDK brings:
 * the parameters of a request or notification by its method, a result by the method of the request it
 * answers.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

type Side = 'agent' | 'client'
type Frame = {
  jsonrpc?: string
  id?: string | number | null
  method?: string
  params?: unknown
  result?: unknown
  error?: { code?: unknown; message?: unknown }
}
type Definition = { 'x-method'?: string; 'x-side'?: Side | 'protocol' }

const sdk = dirname(fileURLToPath(import.meta.resolve('@agentclientprotocol/sdk')))
const schema = JSON.parse(readFileSync(join(sdk, '../../../schema/v1/schema.json'), 'utf8')) as {
  $defs: Record<string, Definition>
}

const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema(schema, 'acp')
const validators = new Map<string, ValidateFunction>()

/** `side` is who takes the method. */
function validatorOf(method: string, side: Side, kind: 'Request' | 'Notification' | 'Response') {
  const name = Object.entries(schema.$defs).find(
    ([key, { 'x-method': of, 'x-side': at }]) =>
      of === method && key.endsWith(kind) && (at === side || at === 'protocol'),
  )?.[0]
  if (name === undefined) return null
  const known = validators.get(name) ?? ajv.compile({ $ref: `acp#/$defs/${name}` })
  validators.set(name, known)
  return known
}

export type FrameJudge = {
  /** One line that this side wrote. */
  take(from: Side, line: string): void
  readonly counts: Record<Side, number>
  /** Sentences; none: every frame fits. */
  readonly violations: readonly string[]
}

export function judgeFrames(): FrameJudge {
  const counts = { agent: 0, client: 0 }
  const violations: string[] = []
  /** Methods of the requests that a side made, by their id. */
  const asked = { agent: new Map<unknown, string>(), client: new Map<unknown, string>() }

  function check(validate: ValidateFunction | null, value: unknown, what: string): void {
    if (validate === null) violations.push(`${what}: the protocol has no such method`)
    else if (!validate(value))
      violations.push(`${what}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 300)}`)
  }

  return {
    counts,
    violations,
    take(from, line) {
      if (line.trim() === '') return
      counts[from] += 1
      const to = from === 'agent' ? 'client' : 'agent'
      const frame = JSON.parse(line) as Frame
      if (frame.jsonrpc !== '2.0') violations.push(`${from}: jsonrpc is ${String(frame.jsonrpc)}`)
      if (frame.method !== undefined) {
        const isRequest = frame.id !== undefined
        if (isRequest) asked[from].set(frame.id, frame.method)
        const kind = isRequest ? 'Request' : 'Notification'
        check(validatorOf(frame.method, to, kind), frame.params, `${from} ${kind} ${frame.method}`)
        return
      }
      const method = asked[to].get(frame.id)
      if (method === undefined) violations.push(`${from}: answers ${String(frame.id)}, which nobody asked`)
      else if (frame.error !== undefined) {
        const { code, message } = frame.error
        if (typeof code !== 'number' || typeof message !== 'string')
          violations.push(`${from} error of ${method}: ${JSON.stringify(frame.error)}`)
      } else check(validatorOf(method, from, 'Response'), frame.result, `${from} Response of ${method}`)
    },
  }
}
