/** Redacts strings and JSON values with a redactor, which works on JSON text. */
import { factsOf } from '@cairn/protocol/words'
import type { Redact } from './redact.ts'
import type { Mode } from './redact/values.ts'

export const redactString = (redact: Redact, text: string, mode: Mode = 'text'): string =>
  JSON.parse(redact(JSON.stringify(text), mode)) as string

export const redactJson = <T>(redact: Redact, value: T): T =>
  JSON.parse(redact(JSON.stringify(value), 'text')) as T

/** Arguments are approved and audited, so nothing but the secret itself is removed. */
export const modeOf = (type: string): Mode => (factsOf(type).arguments === true ? 'arguments' : 'text')
