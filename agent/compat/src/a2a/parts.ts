/** Messages and parts of the Agent2Agent protocol, as its JSON has them. */
import { Image } from '@cairn/protocol'
import { z } from 'zod'
import type { Change, Said } from '../changes/change.ts'
import { compatOrigin } from '../request/origin.ts'
import { refuse } from './errors.ts'

export const Part = z.looseObject({
  text: z.string().optional(),
  raw: z.string().optional(),
  url: z.string().optional(),
  data: z.unknown().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
})
export type Part = z.infer<typeof Part>

export const Message = z.looseObject({
  messageId: z.string().min(1).max(200),
  contextId: z.string().optional(),
  taskId: z.string().optional(),
  role: z.string().optional(),
  parts: z.array(Part).min(1),
  extensions: z.array(z.string()).nullish(),
  referenceTaskIds: z.array(z.string()).nullish(),
})
export type Message = z.infer<typeof Message>

export const textPart = (text: string): Part => ({ text })

/** The text, the images, and the data of a message. */
export function contentOf({ parts }: Message): {
  text: string
  images: z.infer<typeof Image>[]
  data: unknown[]
} {
  const texts: string[] = []
  const images: z.infer<typeof Image>[] = []
  const data: unknown[] = []
  for (const part of parts) {
    if (part.text !== undefined) texts.push(part.text)
    else if (part.data !== undefined) data.push(part.data)
    else if (part.raw !== undefined) images.push(imageOf(part.raw, part.mediaType))
    else
      throw refuse(
        'CONTENT_TYPE_NOT_SUPPORTED',
        'Parts with a URL are not supported: send text, data, or PNG, JPEG, GIF or WebP images as raw.',
      )
  }
  return { text: texts.join('\n'), images, data }
}

function imageOf(raw: string, mediaType: string | undefined): z.infer<typeof Image> {
  const type = Image.shape.mime_type.safeParse(mediaType)
  if (!type.success)
    throw refuse(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `Content of type ${String(mediaType).slice(0, 100)} is not supported: send PNG, JPEG, GIF or WebP images.`,
    )
  return { data: raw, mime_type: type.data }
}

type Place = { taskId: string; contextId: string }

/** A message of a person or another agent, under the id that it came with. */
export const saidMessage = (said: Said, place: Place) => ({
  messageId: compatOrigin(said.metadata).message_id ?? `m${said.id}`,
  ...place,
  role: 'ROLE_USER',
  parts: [
    ...(said.content === '' ? [] : [textPart(said.content)]),
    ...said.images.map(({ data, mime_type }) => ({ raw: data, mediaType: mime_type })),
  ],
})

type Of<K extends Change['kind']> = Extract<Change, { kind: K }>
export type Waiting = Of<'gate'> | Of<'asked'>

/** What a task waits for, in words, and as data from which the caller builds its answer. */
export function waitingParts(waiting: readonly Waiting[]): Part[] {
  const data = {
    approvals: waiting.flatMap(item =>
      item.kind === 'gate'
        ? [{ id: `apr_${item.gate}`, tool: item.name, input: item.input, shown_hash: item.shown_hash }]
        : [],
    ),
    questions: waiting.flatMap(item =>
      item.kind === 'asked' && item.question !== null ? [{ id: `ask_${item.ask}`, ...item.question }] : [],
    ),
    actions: waiting.flatMap(item =>
      item.kind === 'asked' && item.action !== null ? [{ id: `ask_${item.ask}`, ...item.action }] : [],
    ),
  }
  return [textPart(waiting.map(inWords).join('\n\n')), { data, mediaType: 'application/json' }]
}

function inWords(item: Waiting): string {
  if (item.kind === 'gate')
    return `Approval of ${item.name}: ${item.reason} Answer with {"decision": "approve"} or {"decision": "reject"}.`
  if (item.question !== null) return item.question.questions.map(({ prompt }) => prompt).join('\n')
  return item.action === null ? '' : `${item.action.title}\n${item.action.instructions}`
}
