/** The collapsed card of a call: a short summary for each built-in tool; other tools show their arguments. */
import { formatCount, formatEvery, oneLine } from '../format.ts'
import { type Arguments, listOf, numberOf, textOf, type ToolCall } from './tool-call.ts'
import { toolsWords } from '../words/tools.ts'
import { generalWords } from '../words/general.ts'

const MAX_CHARS = 140

/** `verb` replaces the tool's name for people; `object` is shown as code. */
export type ToolLine = { verb: string; object: string; note?: string }
type Say = (call: ToolCall) => ToolLine

const pathAnd = (verb: string, note: (call: ToolCall) => string | undefined): Say => {
  return call => {
    const said = note(call)
    return {
      verb,
      object: textOf(call.args, 'path') ?? '.',
      ...(said !== undefined && { note: said }),
    }
  }
}

const lineCount = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length)

const LINES: Readonly<Record<string, Say>> = {
  terminal: ({ args, result }) => {
    const code = numberOf(result, 'exit_code')
    return {
      verb: '$',
      object: textOf(args, 'command') ?? '',
      ...(code !== null && code !== 0 && { note: toolsWords.exit(code) }),
    }
  },
  write_file: pathAnd(toolsWords.verbs.write, ({ args }) =>
    toolsWords.lineCount(lineCount(textOf(args, 'content') ?? '')),
  ),
  edit_file: pathAnd(toolsWords.verbs.edit, ({ args }) => {
    const removed = lineCount(textOf(args, 'old_string') ?? '')
    const added = lineCount(textOf(args, 'new_string') ?? '')
    return `+${formatCount(added)} −${formatCount(removed)}`
  }),
  read_file: pathAnd(toolsWords.verbs.read, ({ result }) => {
    const total = numberOf(result, 'total_lines')
    return total === null ? undefined : toolsWords.lineCount(total)
  }),
  list_files: pathAnd(toolsWords.verbs.list, ({ result }) =>
    result === null ? undefined : toolsWords.entryCount(listOf(result, 'entries').length),
  ),
  search_files: ({ args, result }) => {
    const found = toolsWords.matchCount(listOf(result, 'matches').length)
    return {
      verb: toolsWords.verbs.search,
      object: textOf(args, 'pattern') ?? '',
      ...(result?.['matches'] !== undefined && { note: found }),
    }
  },
  web_fetch: ({ args, result }) => {
    const status = numberOf(result, 'status')
    return {
      verb: toolsWords.verbs.fetch,
      object: textOf(args, 'url') ?? '',
      ...(status !== null && { note: String(status) }),
    }
  },
  delegate_task: ({ args }) => {
    const several = listOf(args, 'goals').map(each => textOf(each as Arguments, 'goal') ?? '')
    const goals = several.length > 0 ? several : [textOf(args, 'goal') ?? '']
    return {
      verb: toolsWords.verbs.worker,
      object: goals.join(' · '),
      note: generalWords.workers(goals.length),
    }
  },
  spawn_worker: ({ args }) => ({ verb: toolsWords.verbs.worker, object: textOf(args, 'goal') ?? '' }),
  begin_mission: ({ args }) => ({
    verb: toolsWords.verbs.mission,
    object: textOf(args, 'description') ?? '',
  }),
  schedule_create: ({ args }) => {
    const every = numberOf(args, 'every_s')
    const when = textOf(args, 'cron') ?? textOf(args, 'at')
    return {
      verb: toolsWords.verbs.schedule,
      object: textOf(args, 'name') ?? textOf(args, 'prompt') ?? '',
      ...(every !== null ? { note: formatEvery(every) } : when !== null && { note: when }),
    }
  },
  create_artifact: ({ args }) => ({ verb: toolsWords.verbs.show, object: textOf(args, 'name') ?? '' }),
  todo: ({ args }) => {
    const todos = listOf(args, 'todos') as { status?: unknown; content?: unknown }[]
    const done = todos.filter(({ status }) => status === 'completed').length
    const now = todos.find(({ status }) => status === 'in_progress')?.content
    return {
      verb: toolsWords.verbs.plan,
      object: typeof now === 'string' ? now : '',
      note: toolsWords.planDone(done, todos.length),
    }
  },
}

export function toolLine(call: ToolCall): ToolLine {
  const line = call.args === null ? undefined : LINES[call.name]?.(call)
  const { verb, object, note } = line ?? { verb: call.name, object: excerpt(call.rawArgs), note: undefined }
  return { verb, object: oneLine(object, MAX_CHARS), ...(note !== undefined && { note }) }
}

/** The first arguments, shortened. */
function excerpt(args: unknown): string {
  if (typeof args !== 'object' || args === null) return String(args)
  if (Array.isArray(args)) return JSON.stringify(args)
  return Object.entries(args)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('  ')
}
