/** cairn export: raw logs, or rated trajectories as training data (docs/export.md). */
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { plural } from '@cairn/protocol'
import type { CairnClient } from '@cairn/client'
import { VERSION } from '@cairn/tooling/version'
import { DEFAULT_EXCLUDED, EXPORT_FORMATS, type ExportFormat, type Selection } from '../export/options.ts'
import type { LoggedSession } from '../export/training-lines.ts'
import { type Io, defineCommand } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT, UsageError } from '../exit.ts'
import { readLog } from './read-log.ts'

const SOURCES = ['any', 'user', 'judge'] as const

export const exportLogs = defineCommand({
  name: 'export',
  summary: 'Export session logs or training data',
  usage: [
    ['export SESSION…', 'write all events of these sessions so far, in order'],
    ['export --all', 'export all sessions that are not archived'],
    [
      '  --format jsonl|sft|dpo|kto|atif',
      'raw events; or, from rated sessions, chat examples, preference pairs or ATIF trajectories',
    ],
    ['  --source any|user|judge', 'source of the ratings for training data'],
    ['  --agent NAME', 'sessions of this agent only; repeatable'],
    [
      '  --keep TYPE',
      'include sessions with this event, which are skipped by default ' +
        `(${DEFAULT_EXCLUDED.join(', ')}); repeatable`,
    ],
    ['  --out FILE', 'write to a new file instead of stdout'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    all: { type: 'boolean', default: false },
    format: { type: 'string', default: 'jsonl' },
    source: { type: 'string', default: 'any' },
    agent: { type: 'string', multiple: true, default: [] },
    keep: { type: 'string', multiple: true, default: [] },
    out: { type: 'string', short: 'o' },
  },
  async run({ values, positionals }, io) {
    const format = oneOf('--format', EXPORT_FORMATS, values.format)
    const selection: Selection = {
      source: oneOf('--source', SOURCES, values.source),
      agents: values.agent,
      exclude: DEFAULT_EXCLUDED.filter(type => !values.keep.includes(type)),
    }
    const strange = values.keep.find(type => !(DEFAULT_EXCLUDED as readonly string[]).includes(type))
    if (strange !== undefined)
      throw new UsageError(`Invalid --keep "${strange}": must be one of ${DEFAULT_EXCLUDED.join(', ')}`)
    if (values.all === positionals.length > 0) throw new UsageError('Give either session IDs or --all')
    const { client } = connect(values, io)
    // Sorted by id, so that two exports of the same logs are byte-identical.
    const ids = (values.all ? await listIds(client, io.signal) : positionals).toSorted()
    const sink = openSink(values.out, io)
    let lines = 0
    for await (const line of exportedLines(client, ids, format, selection, io.signal)) {
      lines += 1
      await sink.write(`${line}\n`)
    }
    await sink.close()
    const what = format === 'jsonl' ? 'event' : 'example'
    const summary = { sessions: ids.length, [`${what}s`]: lines, file: values.out ?? null }
    if (values.out !== undefined && values.json) io.out(`${JSON.stringify(summary)}\n`)
    else io.note(`${plural(ids.length, 'session')}, ${plural(lines, what)}`)
    return EXIT.ok.code
  },
})

function oneOf<const T extends readonly string[]>(flag: string, known: T, given: string): T[number] {
  if (!known.includes(given))
    throw new UsageError(`Invalid ${flag} "${given}": must be one of ${known.join(', ')}`)
  return given
}

async function* exportedLines(
  client: CairnClient,
  ids: readonly string[],
  format: ExportFormat,
  selection: Selection,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (format === 'jsonl') {
    for (const id of ids)
      for await (const events of readLog(client, id, signal))
        yield* events.map(event => JSON.stringify(event))
    return
  }
  // Raw records need neither the tools nor the session fold.
  const [{ createRedactor }, { createDefineTool }, { trainingLines }] = await Promise.all([
    import('@cairn/log'),
    import('../export/define-tool.ts'),
    import('../export/training-lines.ts'),
  ])
  yield* trainingLines(readSessions(client, ids, signal), {
    format,
    selection,
    define: createDefineTool(),
    version: VERSION,
    redact: createRedactor([]),
  })
}

async function* readSessions(
  client: CairnClient,
  ids: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<LoggedSession> {
  for (const id of ids) {
    const { agent } = await client.call('getSession', { params: { id }, signal })
    const events = (await Array.fromAsync(readLog(client, id, signal))).flat()
    yield { id, agent, events }
  }
}

async function listIds(client: CairnClient, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.call('listSessions', { query: { limit: 200, cursor }, signal })
    ids.push(...page.sessions.map(({ id }) => id))
    cursor = page.next_cursor
  }
  return ids
}

/** Turns the error for an existing file into a usage error. */
const explainOpen = (error: Error, file: string): Error =>
  'code' in error && error.code === 'EEXIST'
    ? new UsageError(`${file} already exists: choose a new file name`, { cause: error })
    : error

type Sink = { write: (text: string) => Promise<void>; close: () => Promise<void> }
function openSink(file: string | undefined, { out, flushed }: Pick<Io, 'out' | 'flushed'>): Sink {
  if (file === undefined) {
    const write = (text: string): Promise<void> => {
      out(text)
      return flushed()
    }
    return { write, close: () => Promise.resolve() }
  }
  // 'wx' fails if the file exists: an export never overwrites a file.
  const stream = createWriteStream(file, { flags: 'wx', mode: 0o600 })
  const failed = once(stream, 'error').then(([error]) => Promise.reject(explainOpen(error as Error, file)))
  // Every write and the close race this promise; in between, a rejection must not count as unhandled.
  failed.catch(() => {})
  return {
    write: text => Promise.race([failed, new Promise<void>(resolve => stream.write(text, () => resolve()))]),
    close: () => Promise.race([failed, new Promise<void>(resolve => stream.end(() => resolve()))]),
  }
}
