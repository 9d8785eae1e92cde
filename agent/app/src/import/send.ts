/**
 * Sends a conversation to the server, part by part. What the session has already is skipped: its messages
 * are hashed and compared, not sent.
 */
import type { CairnClient } from '@cairn/client'
import { clip, type ImportedMessage } from '@cairn/protocol'
import { chainHash } from '@cairn/sessions'
import type { Recorded, Source } from './conversation.ts'
import { createPacker } from './parts.ts'
import type { ImportFormat } from './reader.ts'
import type { Note } from './values.ts'

/** `added`: messages that this import added; `total`: messages of the conversation. */
export type Sent = {
  source_id: string
  session_id: string | null
  added: number
  total: number
  calls: number
  results: number
  sha256: string
}
export type Sender = {
  send(groups: readonly (readonly ImportedMessage[])[]): Promise<void>
  finish(): Promise<Sent>
}

/** The messages that were imported earlier are not those of the source. */
class SourceChanged extends Error {
  override readonly name = 'SourceChanged'
}

const MAX_TITLE = 80

export function createSender(
  client: CairnClient,
  { source }: Recorded,
  { format, agent, note, signal }: { format: ImportFormat; agent?: string; note: Note; signal: AbortSignal },
): Sender {
  const packer = createPacker(() => note('text longer than a request'))
  const sent: Sent = {
    source_id: source.id,
    session_id: null,
    added: 0,
    total: 0,
    calls: 0,
    results: 0,
    sha256: '',
  }
  let known: { total: number; sha256: string } | null = null
  let title: string | undefined

  const post = async (first: number, messages: ImportedMessage[]) => {
    const body = {
      format,
      first,
      messages,
      ...sourceFields(source, title),
      ...(agent === undefined ? {} : { agent }),
    }
    const { session, ...answer } = await client.call('importPart', { body, signal })
    sent.session_id = session?.id ?? null
    sent.added += answer.added
    return answer
  }

  async function sendPart(part: ImportedMessage[]): Promise<void> {
    if (known === null) throw new Error('[import] a part was sent before the session was read')
    const first = sent.total
    for (const message of part) {
      sent.sha256 = chainHash(sent.sha256, message)
      sent.total += 1
      if (message.role === 'tool') sent.results += 1
      if (message.role === 'assistant') sent.calls += message.tool_calls?.length ?? 0
      if (sent.total === known.total && sent.sha256 !== known.sha256)
        throw new SourceChanged(
          `Conversation ${source.id} was imported before, and its first ${known.total} messages have ` +
            'changed since. A session is never rewritten.',
        )
    }
    if (sent.total > known.total) await post(first, part)
  }

  return {
    send: async groups => {
      if (groups.length === 0) return
      title ??= source.title ?? titleFrom(groups)
      known ??= await post(0, [])
      for (const group of groups) {
        const full = packer.add(group)
        if (full !== null) await sendPart(full)
      }
    },
    finish: async () => {
      const rest = packer.rest()
      if (rest.length > 0) await sendPart(rest)
      // A title that stands at the end of the file was not known when the session was created.
      const { title: named } = source
      if (named !== undefined && named !== title && sent.added === sent.total && sent.session_id !== null)
        await client.call('renameSession', {
          params: { id: sent.session_id },
          body: { title: clip(named.trim(), MAX_TITLE) },
          signal,
        })
      if (known !== null && sent.total < known.total)
        throw new SourceChanged(
          `Conversation ${source.id} was imported before with ${known.total} messages; this file has ` +
            `only ${sent.total}.`,
        )
      return sent
    },
  }
}

function sourceFields({ id: source_id, system, tool_version, parent }: Source, title: string | undefined) {
  return {
    source_id,
    ...(title === undefined ? {} : { title }),
    ...(system === undefined ? {} : { system }),
    ...(tool_version === undefined ? {} : { tool_version }),
    ...(parent === undefined ? {} : { parent_source_id: parent }),
  }
}

/** The first line of the first message that is not a program's own. */
function titleFrom(groups: readonly (readonly ImportedMessage[])[]): string | undefined {
  const said = groups.flat().find(({ role, content }) => role === 'user' && !/^\s*[<[]/.test(content))
  const line = said?.content.trim().split('\n')[0]?.trim()
  return line === undefined || line === '' ? undefined : clip(line, MAX_TITLE)
}
