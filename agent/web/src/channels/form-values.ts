/** Converts between form fields and the settings and secrets of a connection. Pure. */
import type { Field } from './channel-queries.ts'

export type Settings = Record<string, unknown>

/** The value at a dotted path. */
export const valueAt = (settings: Settings, key: string): unknown =>
  key.split('.').reduce<unknown>((inner, part) => (isObject(inner) ? inner[part] : undefined), settings)

const isObject = (value: unknown): value is Settings => typeof value === 'object' && value !== null

/** The text that a field shows for a value. */
export function shownValue({ kind, default: preset }: Field, value: unknown): string {
  if (kind === 'list') return Array.isArray(value) ? value.join('\n') : ''
  const given = value ?? preset ?? ''
  return typeof given === 'object' ? '' : String(given)
}

/** The settings with the values of the form; settings without a field are unchanged. */
export function settingsOf(before: Settings, fields: readonly Field[], form: FormData): Settings {
  const settings = structuredClone(before)
  for (const field of fields) {
    if (field.kind === 'secret') continue
    const text = String(form.get(field.key) ?? '').trim()
    put(settings, field.key.split('.'), parse(field, text))
  }
  return settings
}

function parse({ kind }: Field, text: string): unknown {
  if (kind === 'flag') return text === 'on'
  if (kind === 'list') {
    const lines = text.split(/[\n,]/).flatMap(line => (line.trim() === '' ? [] : [line.trim()]))
    return lines.length === 0 ? undefined : lines
  }
  if (text === '') return undefined
  return kind === 'number' ? Number(text) : text
}

function put(place: Settings, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length > 0) {
    const inner = isObject(place[first]) ? place[first] : {}
    put(inner, rest, value)
    if (Object.keys(inner).length > 0) place[first] = inner
    else delete place[first]
  } else if (value === undefined) delete place[first]
  else place[first] = value
}

/** Only secrets that were typed; the others are unchanged. */
export const secretsOf = (fields: readonly Field[], form: FormData): Record<string, string> =>
  Object.fromEntries(
    fields.flatMap(({ key, kind }) => {
      const text = kind === 'secret' ? String(form.get(key) ?? '').trim() : ''
      return text === '' ? [] : [[key, text] as const]
    }),
  )
