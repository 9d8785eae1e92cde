/** Requests of the AI SDK, as commands. */
import { AppError, type EventId, type EventOf, Image, type Principal } from '@cairn/protocol'
import { z } from 'zod'
import { readExchange, type SentMessage } from '../changes/exchange.ts'
import { saidOf } from '../changes/fold.ts'
import type { CompatDeps } from '../deps.ts'
import { checkValue } from '../request/body.ts'
import { answer, type AskOutput, decide } from '../request/command.ts'
import { checkHistory, historyDiffers } from '../request/history.ts'
import { numberIn } from '../request/ids.ts'
import { userId } from './chunks.ts'

const Part = z.looseObject({ type: z.string() })
type Part = z.infer<typeof Part>
const Message = z.looseObject({
  id: z.string().min(1).max(200),
  role: z.enum(['user', 'assistant', 'system']),
  parts: z.array(Part),
})
export type Message = z.infer<typeof Message>

export const ChatRequest = z.looseObject({
  id: z.string(),
  messages: z.array(Message).min(1),
  trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
  messageId: z.string().optional(),
  agent: z.string().optional(),
})

/** What pages send beside the conversation and Cairn has not, with the reason. */
export const REFUSED_FIELDS = {
  tools: 'The agent knows only its own tools, not those of a page.',
  system: 'The instructions of an agent are part of its configuration.',
  model: 'The model of an agent is part of its configuration: name an agent.',
  callSettings: 'The settings of a model are part of the configuration.',
  config: 'The settings of a model are part of the configuration.',
}

/** `metadata` of a request is about the request only. Others may be sent empty, as some front ends do. */
const KNOWN_FIELDS = [...Object.keys(ChatRequest.shape), 'metadata']
const isEmpty = (value: unknown): boolean =>
  value === null || ['', '{}', '[]'].includes(typeof value === 'string' ? value : JSON.stringify(value))

export function refuseFields(body: Readonly<Record<string, unknown>>): void {
  const field = Object.keys(body).find(name => !KNOWN_FIELDS.includes(name) && !isEmpty(body[name]))
  if (field === undefined) return
  const why = Object.hasOwn(REFUSED_FIELDS, field) ? REFUSED_FIELDS[field as never] : 'It is not known.'
  throw new AppError('unsupported', `${field.slice(0, 100)}: not supported. ${why}`, { extra: { field } })
}

type Images = NonNullable<EventOf<'user.message'>['data']['images']>

/** The text and the images of a message of a person. */
export function contentOf({ parts }: Message): { content: string; images: Images } {
  const texts: string[] = []
  const images: Images = []
  for (const part of parts) {
    if (part.type === 'text') texts.push(String(part['text'] ?? ''))
    else if (part.type === 'file') images.push(imageOf(part))
    else
      throw new AppError(
        'unsupported',
        `Parts of type ${part.type.slice(0, 100)} are not supported in a message.`,
      )
  }
  return { content: texts.join('\n'), images }
}

function imageOf({ url, mediaType }: Part): Images[number] {
  const type = Image.shape.mime_type.safeParse(mediaType)
  const data = /^data:[^,]*;base64,(.*)$/s.exec(typeof url === 'string' ? url : '')?.[1]
  if (!type.success || data === undefined)
    throw new AppError(
      'unsupported',
      `A file of type ${String(mediaType).slice(0, 100)} is not supported: send PNG, JPEG, GIF or WebP ` +
        'images as data URLs. Other files: POST /v1/sessions/{id}/workspace/file.',
    )
  return { data, mime_type: type.data }
}

/** A message that is in the log already; null: it is new. */
export function findSent(sent: readonly SentMessage[], message: Message): SentMessage | null {
  const found = sent.findLast(({ event }) => userId(saidOf(event)) === message.id)
  if (found === undefined) return null
  if (found.event.data.content !== contentOf(message).content) throw historyDiffers('The message was edited.')
  const begins = sent.findLastIndex(each => each.begins)
  if (sent.indexOf(found) < begins) throw historyDiffers('Later messages were removed.')
  return found
}

/** Compares the history before a new message with the log. */
export const checkMessages = (sent: readonly SentMessage[], before: readonly Message[]): void =>
  checkHistory(
    sent.map(({ event, begins }) => ({ id: userId(saidOf(event)), begins })),
    before.filter(({ role }) => role === 'user').map(({ id }) => id),
  )

type Place = { session_id: string; exchange: EventId }

/** Sends what a person decided and answered in an assistant's message. */
export async function applyAnswers(
  deps: CompatDeps,
  principal: Principal,
  { session_id, exchange }: Place,
  { parts }: Message,
): Promise<void> {
  const tools = parts.filter(({ type }) => type === 'dynamic-tool' || type.startsWith('tool-'))
  const outputs: { part: Part; output: AskOutput }[] = []
  const open = new Map<string, EventId>()
  for (const { changes } of await readExchange(deps.store, session_id, exchange))
    for (const change of changes) {
      if (change.kind === 'asked') open.set(change.call, change.ask)
      if (change.kind === 'answered') open.delete(change.call)
    }
  for (const part of tools) {
    if (part['providerExecuted'] === true || !/^output-(?:available|error)$/.test(String(part['state'])))
      continue
    if (!ASKING.includes(toolName(part)))
      throw new AppError(
        'unsupported',
        `Tool ${JSON.stringify(toolName(part).slice(0, 100))} is not supported: tools of a page are not ` +
          'known to the agent.',
      )
    if (open.has(String(part['toolCallId']))) outputs.push({ part, output: outputOf(part) })
  }
  for (const { state, approval } of tools) {
    if (state !== 'approval-responded') continue
    const { id, approved, reason, descriptor } = checkValue(Approval, approval)
    const gate = numberIn('apr_', id)
    if (gate === null) throw new AppError('not_found', `Approval ${JSON.stringify(id)} not found.`)
    const shown_hash = descriptor?.shown_hash ?? undefined
    await decide(deps, principal, { session_id, gate }, { approve: approved, reason, shown_hash })
  }
  for (const { part, output } of outputs) {
    const ask = open.get(String(part['toolCallId']))
    if (ask !== undefined) await answer(deps, principal, { session_id, ask }, output)
  }
}

const ASKING = ['ask_user_question', 'request_user_action']
const toolName = (part: Part): string =>
  part.type === 'dynamic-tool' ? String(part['toolName']) : part.type.slice('tool-'.length)

const Approval = z.looseObject({
  id: z.string().max(100),
  approved: z.boolean(),
  reason: z.string().min(1).optional(),
  descriptor: z.looseObject({ shown_hash: z.string().nullish() }).optional(),
})

/** `{responses}` for a question, `{completed: true, note}` for an action; text answers a single prompt. */
function outputOf(part: Part): AskOutput {
  const { output, state, input } = part
  if (state === 'output-error')
    throw new AppError(
      'unsupported',
      'A question cannot be answered with an error: answer it, or stop the turn.',
    )
  if (toolName(part) === 'request_user_action') {
    const note = typeof output === 'string' ? output : Note.safeParse(output).data?.note
    return { completed: true, ...(note === undefined || note === '' ? {} : { note }) }
  }
  const prompts = Prompts.safeParse(input).data?.questions ?? []
  const [only] = prompts
  if (typeof output === 'string' && prompts.length === 1 && only !== undefined)
    return { responses: [{ question: only.prompt, answer: output }] }
  const given = Responses.safeParse(output)
  if (given.success) return given.data
  throw new AppError(
    'invalid_body',
    'Invalid output of ask_user_question: must be {responses: [{question, answer}]}, or text if it has one prompt.',
  )
}
const Note = z.looseObject({ note: z.string().optional() })
const Prompts = z.looseObject({ questions: z.array(z.looseObject({ prompt: z.string() })) })
const Responses = z.object({
  responses: z.array(z.object({ question: z.string(), answer: z.string() })).min(1),
})
