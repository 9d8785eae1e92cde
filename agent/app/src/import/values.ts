/** Reads values of records that other programs wrote: anything may be missing or of another type. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Counts what an import leaves out or changes, by a short name. */
export type Note = (what: string) => void

/**
 * The text of content that is a string or a list of parts, as all formats here have it. Pictures and files
 * are named, not kept.
 */
export function contentText(content: unknown, note: Note): string {
  if (typeof content === 'string') return content
  if (isObject(content)) return contentText([content], note)
  return listOf(content)
    .map(part => (typeof part === 'string' ? part : partText(objectOf(part), note)))
    .filter(text => text !== '')
    .join('\n\n')
}

function partText(part: Json, note: Note): string {
  const type = textOf(part['type'])
  if (typeof part['text'] === 'string') return part['text']
  if (typeof part['refusal'] === 'string') return part['refusal']
  if (type === 'thinking' || type === 'redacted_thinking' || type === 'reasoning') {
    note('reasoning')
    return ''
  }
  const what = /image|file|document|audio|video/.exec(type)?.[0] ?? (type === '' ? 'part' : type)
  note(what)
  return `[Left out by the import: ${what}]`
}
