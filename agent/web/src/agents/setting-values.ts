/** Values within settings by their path, and settings as text for a comparison. Pure. */
import type { Settings } from './setting-queries.ts'

const isMap = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const valueAt = (settings: Settings, path: string): unknown =>
  path.split('.').reduce<unknown>((at, key) => (isMap(at) ? at[key] : undefined), settings)

/** Undefined removes the key, and maps that are empty without it. */
export function withValue(settings: Settings, path: string, value: unknown): Settings {
  const [key = '', ...rest] = path.split('.')
  const { [key]: old, ...others } = settings
  const fresh = rest.length === 0 ? value : withValue(isMap(old) ? old : {}, rest.join('.'), value)
  const isGone = fresh === undefined || (rest.length > 0 && isMap(fresh) && Object.keys(fresh).length === 0)
  if (isGone) return others
  // A key keeps its place.
  return Object.hasOwn(settings, key) ? { ...settings, [key]: fresh } : { ...others, [key]: fresh }
}

/** One line for each value, and a text with its own lines, so that a comparison by lines shows the change. */
export function settingsText(settings: Settings | null): string {
  return settings === null ? '' : linesOf(settings, '').join('\n')
}

function linesOf(settings: Settings, indent: string): string[] {
  return Object.entries(settings).flatMap(([key, value]) => {
    if (isMap(value) && Object.keys(value).length > 0)
      return [`${indent}${key}:`, ...linesOf(value, `${indent}  `)]
    if (typeof value === 'string' && value.includes('\n'))
      return [`${indent}${key}: |`, ...value.split('\n').map(line => `${indent}  ${line}`)]
    if (Array.isArray(value) && value.length > 0)
      return [`${indent}${key}:`, ...value.map(item => `${indent}  - ${plainText(item)}`)]
    return [`${indent}${key}: ${plainText(value)}`]
  })
}

const plainText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The lines of a text field as a list; undefined: none. */
export function listOf(text: string): string[] | undefined {
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  return lines.length === 0 ? undefined : lines
}
