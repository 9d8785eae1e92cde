/** The collapsed row of a call: its name for people, and the chips that state its result. */
import { toolError } from '@cairn/protocol'
import { isExpectedMiss, toolWords, type ToolWords } from '@cairn/state'
import { formatCount, formatEvery, oneLine } from '../format.ts'
import { listOf, numberOf, textOf, type ToolCall } from './tool-call.ts'
import { toolsWords } from '../words/tools.ts'

type Tone = 'good' | 'warn' | 'bad' | 'quiet'
export type Chip = { tone: Tone; text: string }
export type ToolLine = ToolWords & {
  chips: readonly Chip[]
  /** A fact that needs no chip: how much was read or found. */
  note?: string
  /** Lines added and removed by an edit. */
  change?: { added: number; removed: number }
  /** The error in one line; null if the call did not fail. */
  error: string | null
}

/** Arguments that are not an object, as a model may write them, are the object themselves. */
export function describeCall(name: string, args: unknown): ToolWords {
  const words = toolWords(name, args)
  if (words.object !== '' || (typeof args !== 'string' && !Array.isArray(args))) return words
  return { ...words, object: oneLine(typeof args === 'string' ? args : JSON.stringify(args), 140) }
}

export function toolLine(call: ToolCall): ToolLine {
  const error = call.content === null ? null : toolError(call.content)
  const words = describeCall(call.name, call.rawArgs)
  const result = call.args === null ? undefined : RESULTS[call.name]?.(call)
  const failure = error === null ? [] : [failureOf(call.name, error)]
  return {
    ...words,
    ...(error === null ? result : {}),
    chips: [...(error === null ? (result?.chips ?? []) : []), ...failure],
    error: error === null ? null : oneLine(error.replace(/^Tool execution failed: /, ''), 200),
  }
}

type Result = Partial<Pick<ToolLine, 'chips' | 'note' | 'change'>>

const lineCount = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length)

/** Null before the result. */
function exitChip({ result }: ToolCall): Chip | null {
  if (result === null) return null
  if (textOf(result, 'signal') !== null) return { tone: 'quiet', text: toolsWords.stopped }
  const code = numberOf(result, 'exit_code')
  return code === null ? null : { tone: code === 0 ? 'good' : 'bad', text: toolsWords.exit(code) }
}

function statusChip({ result }: ToolCall): Chip | null {
  const status = numberOf(result, 'status')
  if (status === null || status < 400) return null
  return { tone: status < 500 ? 'warn' : 'bad', text: String(status) }
}

const chips = (chip: Chip | null): Result => (chip === null ? {} : { chips: [chip] })

const RESULTS: Readonly<Record<string, (call: ToolCall) => Result>> = {
  terminal: call => chips(exitChip(call)),
  web_fetch: call => chips(statusChip(call)),
  write_file: ({ args }) => ({ note: toolsWords.lineCount(lineCount(textOf(args, 'content') ?? '')) }),
  edit_file: ({ args }) => ({
    change: {
      added: lineCount(textOf(args, 'new_string') ?? ''),
      removed: lineCount(textOf(args, 'old_string') ?? ''),
    },
  }),
  read_file({ result }) {
    const total = numberOf(result, 'total_lines')
    return total === null ? {} : { note: toolsWords.lineCount(total) }
  },
  list_files: ({ result }) =>
    result === null ? {} : { note: toolsWords.entryCount(listOf(result, 'entries').length) },
  search_files({ result }) {
    if (result?.['matches'] === undefined) return {}
    const { length } = listOf(result, 'matches')
    return length === 0
      ? chips({ tone: 'warn', text: toolsWords.noMatch })
      : { note: toolsWords.matchCount(length) }
  },
  schedule_create({ args }) {
    const every = numberOf(args, 'every_s')
    const when = every === null ? (textOf(args, 'cron') ?? shownAt(textOf(args, 'at'))) : formatEvery(every)
    return when === null ? {} : { note: when }
  },
}

/** "30 Nov, 09:00" in the reader's time zone. The model may have written anything. */
function shownAt(at: string | null): string | null {
  if (at === null || Number.isNaN(Date.parse(at))) return at
  const parts = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
  return new Date(at).toLocaleString('en-GB', parts)
}

function failureOf(name: string, error: string): Chip {
  if (!isExpectedMiss(name, error)) return { tone: 'bad', text: toolsWords.failed }
  return { tone: 'warn', text: name === 'edit_file' ? toolsWords.noMatch : toolsWords.notFound }
}

/** The chips of several calls that are shown as one: equal ones are counted, good ones are left out. */
export function sumOfChips(lines: readonly ToolLine[]): Chip[] {
  const counts = new Map<string, Chip & { count: number }>()
  for (const { chips } of lines)
    for (const chip of chips) {
      if (chip.tone === 'good') continue
      const known = counts.get(chip.text)
      counts.set(chip.text, { ...chip, count: (known?.count ?? 0) + 1 })
    }
  return [...counts.values()].map(({ tone, text, count }) => ({
    tone,
    text: `${formatCount(count)} ${text}`,
  }))
}

export function sumOfChanges(lines: readonly ToolLine[]): ToolLine['change'] {
  const changes = lines.flatMap(({ change }) => (change === undefined ? [] : [change]))
  if (changes.length === 0) return undefined
  return changes.reduce((sum, { added, removed }) => ({
    added: sum.added + added,
    removed: sum.removed + removed,
  }))
}
