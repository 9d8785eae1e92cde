/**
 * The visible lines of a JSON value shown as a tree. They depend only on the value and on the open branches.
 */
import { eventsWords } from '../words/events.ts'

export type JsonPath = string
export type JsonLine = {
  /** Unique within the tree; the root is "$". */
  path: JsonPath
  depth: number
  /** Key or index in the parent; null at the root. */
  name: string | null
  kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' | 'parsed' | 'more'
  /** The text after the name: the value (a string without quotes), or a summary of a closed branch. */
  text: string
  isBranch: boolean
  isOpen: boolean
}

/** The root and its children are open by default, unless they are long. */
const OPEN_DEPTH = 2
const LONG = 60
/** Children shown at once; a line with the number of the others shows more. */
export const PAGE = 200

/** `flipped` holds the branches that differ from their default state, and the opened "more" lines. */
export function flattenJson(value: unknown, flipped: ReadonlySet<JsonPath>): JsonLine[] {
  const lines: JsonLine[] = []
  addLines(lines, value, '$', null, 0, flipped)
  return lines
}

function addLines(
  lines: JsonLine[],
  value: unknown,
  path: JsonPath,
  name: string | null,
  depth: number,
  flipped: ReadonlySet<JsonPath>,
): void {
  const isText = typeof value === 'string'
  const inner = isText ? parseJsonText(value) : value
  if (typeof inner !== 'object' || inner === null) {
    lines.push({
      path,
      depth,
      name,
      kind: leafKind(value),
      text: String(value),
      isBranch: false,
      isOpen: false,
    })
    return
  }
  const entries = Array.isArray(inner)
    ? inner.map((item, index) => [String(index), item] as const)
    : Object.entries(inner)
  const openByDefault = depth === 0 || (!isText && depth < OPEN_DEPTH && entries.length <= LONG)
  const isOpen = entries.length > 0 && openByDefault !== flipped.has(path)
  const kind = isText ? 'parsed' : Array.isArray(inner) ? 'array' : 'object'
  lines.push({
    path,
    depth,
    name,
    kind,
    text: branchText(inner, entries.length, isText),
    isBranch: entries.length > 0,
    isOpen,
  })
  if (!isOpen) return
  const morePath = `${path}…`
  const shown = flipped.has(morePath) ? entries.length : PAGE
  for (const [key, item] of entries.slice(0, shown))
    addLines(
      lines,
      item,
      `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      key,
      depth + 1,
      flipped,
    )
  if (entries.length > shown)
    lines.push({
      path: morePath,
      depth: depth + 1,
      name: null,
      kind: 'more',
      text: eventsWords.moreEntries(entries.length - shown),
      isBranch: true,
      isOpen: false,
    })
}

function branchText(value: object, size: number, isText: boolean): string {
  const what = Array.isArray(value) ? (size === 0 ? '[]' : `[${size}]`) : size === 0 ? '{}' : `{${size}}`
  return isText ? eventsWords.jsonText(what) : what
}

/** Tool results are often JSON as text; it is shown as a tree. */
function parseJsonText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    // Text that only looks like JSON stays text.
    return text
  }
}

const leafKind = (value: unknown): JsonLine['kind'] =>
  value === null
    ? 'null'
    : typeof value === 'string'
      ? 'string'
      : typeof value === 'number'
        ? 'number'
        : typeof value === 'boolean'
          ? 'boolean'
          : 'object'
