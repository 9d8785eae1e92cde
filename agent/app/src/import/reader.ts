/** The formats that `cairn import` reads, and how it recognises them. */
import { readAtif } from './atif.ts'
import { readClaudeCode } from './claude-code.ts'
import { readCodex } from './codex.ts'
import type { Reader } from './conversation.ts'
import { messagesOf, readMessages } from './messages.ts'
import { readOpencode } from './opencode.ts'
import { isObject, type Note, textOf } from './values.ts'

const CLAUDE_RECORDS: ReadonlySet<string> = new Set(['summary', 'file-history-snapshot', 'queue-operation'])
const CODEX_RECORDS: ReadonlySet<string> = new Set(['session_meta', 'response_item', 'event_msg'])

type Row = { read: (note: Note) => Reader; fits: (record: unknown) => boolean }
const FORMATS = {
  codex: {
    read: readCodex,
    fits: record =>
      isObject(record) && isObject(record['payload']) && CODEX_RECORDS.has(textOf(record['type'])),
  },
  'claude-code': {
    read: readClaudeCode,
    fits: record =>
      isObject(record) &&
      typeof record['type'] === 'string' &&
      (typeof record['sessionId'] === 'string' || CLAUDE_RECORDS.has(record['type'])),
  },
  atif: {
    read: readAtif,
    fits: record => isObject(record) && /^ATIF-v1\.[4-8]$/.test(textOf(record['schema_version'])),
  },
  opencode: {
    read: readOpencode,
    fits: record => isObject(record) && isObject(record['info']) && Array.isArray(record['messages']),
  },
  messages: { read: readMessages, fits: record => messagesOf(record) !== null },
} as const satisfies Record<string, Row>

export type ImportFormat = keyof typeof FORMATS
export const IMPORT_FORMATS = Object.keys(FORMATS) as ImportFormat[]

export const readerOf = (format: ImportFormat, note: Note): Reader => FORMATS[format].read(note)

/** The format of a file by its first record; null if none fits. */
export const formatOf = (record: unknown): ImportFormat | null =>
  IMPORT_FORMATS.find(format => FORMATS[format].fits(record)) ?? null
