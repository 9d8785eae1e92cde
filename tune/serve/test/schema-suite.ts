/**
 * Schemas of the published test suite of JSON Schema (draft 4), answered by random weights and judged by a
 * validator that shares nothing with the grammar.
 */
import { createRequire } from 'node:module'
import type { Fixture } from './server-fixture.ts'

const require = createRequire(import.meta.url)
const { default: Ajv } = require('ajv-draft-04') as {
  default: new (options: object) => { validate(schema: object, value: unknown): boolean }
}
const addFormats = require('ajv-formats') as (ajv: object) => void
const suite = require('json-schema-test-suite') as {
  draft4: () => { name: string; schemas: { description: string; schema: object }[] }[]
}

type Named = { name: string; schema: object }

/** Every schema of the suite. */
export const listSchemas = (): Named[] =>
  suite
    .draft4()
    .flatMap(({ name, schemas }) =>
      schemas.map(({ description, schema }) => ({ name: `${name}: ${description}`, schema })),
    )

export function isValid(schema: object, text: string): boolean {
  const ajv = new Ajv({ strict: false })
  addFormats(ajv)
  return ajv.validate(schema, JSON.parse(text))
}

export type SuiteResult = Named & { verdict: 'valid' | 'wrong' | 'unfinished' | 'refused'; text: string }

/** One answer to a schema. */
export async function trySchema(
  server: Pick<Fixture, 'post'>,
  named: Named,
  seed: number,
): Promise<SuiteResult> {
  const { status, body } = await server.post('/v1/completions', {
    prompt: 'Răspuns: ',
    max_tokens: 220,
    temperature: 1,
    seed,
    structured_outputs: { json: named.schema },
  })
  const reply = body as { choices: { text: string; finish_reason: string }[]; error: { message: string } }
  if (status !== 200) return { ...named, verdict: 'refused', text: `${status} ${reply.error.message}` }
  const [choice] = reply.choices
  const text = choice?.text ?? ''
  if (choice?.finish_reason !== 'stop') return { ...named, verdict: 'unfinished', text }
  return { ...named, verdict: isValid(named.schema, text) ? 'valid' : 'wrong', text }
}
