/** Imports one file: reads its records, and sends each conversation while it is read. */
import type { CairnClient } from '@cairn/client'
import type { Reader, Recorded } from './conversation.ts'
import { formatOf, type ImportFormat, readerOf } from './reader.ts'
import { readRecords } from './read-records.ts'
import { createSender, type Sender, type Sent } from './send.ts'

export type FileReport = {
  file: string
  format: ImportFormat | null
  conversations: Sent[]
  /** Records that are not JSON, by the number of their line. */
  damaged: { line: number; why: string }[]
  /** What was left out or changed, with its count. */
  notes: Record<string, number>
  /** Why the file, or a conversation of it, was not imported. */
  errors: string[]
}

export type ImportOptions = {
  /** Without it, the first record of the file decides. */
  format?: ImportFormat
  agent?: string
  signal: AbortSignal
}

export async function importFile(
  client: CairnClient,
  file: string,
  { format: given, agent, signal }: ImportOptions,
): Promise<FileReport> {
  const report: FileReport = {
    file,
    format: given ?? null,
    conversations: [],
    damaged: [],
    notes: {},
    errors: [],
  }
  const note = (what: string): void => {
    report.notes[what] = (report.notes[what] ?? 0) + 1
  }
  const senders = new Map<Recorded, Sender>()
  let reader: Reader | null = null
  const senderOf = (conversation: Recorded, format: ImportFormat): Sender => {
    const found = senders.get(conversation)
    if (found !== undefined) return found
    const made = createSender(client, conversation, {
      format,
      note,
      signal,
      ...(agent === undefined ? {} : { agent }),
    })
    senders.set(conversation, made)
    return made
  }

  for await (const record of readRecords(file)) {
    if ('damage' in record) {
      report.damaged.push({ line: record.line, why: record.damage })
      continue
    }
    report.format ??= formatOf(record.value)
    const { format } = report
    if (format === null) {
      report.errors.push(`Unknown format: line ${record.line} is of no format that can be imported.`)
      return report
    }
    reader ??= readerOf(format, note)
    reader.record(record.value)
    for (const conversation of reader.conversations())
      await senderOf(conversation, format).send(conversation.take())
  }
  for (const conversation of reader?.conversations() ?? []) {
    const sender = senderOf(conversation, report.format ?? 'messages')
    await sender.send(conversation.end())
    const sent = await sender.finish()
    if (sent.total > 0) report.conversations.push(sent)
  }
  return report
}
