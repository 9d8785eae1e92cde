/** Runs of AG-UI, as commands. */
import type { SessionRow } from '@cairn/log'
import { AppError, type EventId, Image, type Principal } from '@cairn/protocol'
import { z } from 'zod'
import { findExchange, questionOf, recentMessages, type SentMessage } from '../changes/exchange.ts'
import { saidOf } from '../changes/fold.ts'
import type { CompatDeps } from '../deps.ts'
import { checkValue } from '../request/body.ts'
import { answer, type AskOutput, decide, openSession, say, stop } from '../request/command.ts'
import { checkHistory, historyDiffers } from '../request/history.ts'
import { findNamed, numberIn } from '../request/ids.ts'
import { compatOrigin } from '../request/origin.ts'
import { findReaction } from '../request/reaction.ts'
import { userMessageId } from './events.ts'

export const API = 'ag-ui'

const Part = z.looseObject({ type: z.string() })
const HeldMessage = z.looseObject({
  id: z.string().min(1).max(200),
  role: z.string(),
  content: z.union([z.string(), z.array(Part)]).optional(),
})
export type HeldMessage = z.infer<typeof HeldMessage>
const Resume = z.looseObject({
  interruptId: z.string(),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
})
type Resume = z.infer<typeof Resume>

/** Keys that are not among these are refused. */
export const RunInput = z.strictObject({
  threadId: z.string(),
  runId: z.string().min(1).max(200),
  protocolVersion: z.string().optional(),
  messages: z.array(HeldMessage).default([]),
  resume: z.array(Resume).nullish(),
  tools: z.array(z.unknown()).nullish(),
  parentRunId: z.string().nullish(),
  context: z.array(z.unknown()).nullish(),
  /** The state that the thread sent, which clients send back. */
  state: z.unknown().optional(),
  forwardedProps: z.unknown().optional(),
})
export type RunInput = z.infer<typeof RunInput>

/** What AG-UI has and Cairn has not, with the reason. */
export const REFUSED_FIELDS = {
  tools: 'The agent knows only its own tools, not those of a page.',
  parentRunId: 'A log has no branches.',
  protocolVersion: 'This service speaks version 1.0.',
}

export function refuseFields({ tools, parentRunId, protocolVersion }: RunInput): void {
  const isRefused: Record<keyof typeof REFUSED_FIELDS, boolean> = {
    tools: (tools?.length ?? 0) > 0,
    parentRunId: Boolean(parentRunId),
    protocolVersion: protocolVersion !== undefined && !/^1(?:\.\d+)*$/.test(protocolVersion),
  }
  for (const [field, why] of Object.entries(REFUSED_FIELDS))
    if (isRefused[field as keyof typeof REFUSED_FIELDS])
      throw new AppError('unsupported', `${field}: not supported. ${why}`, { extra: { field } })
}

/** What was sent and has no effect, which the run reports. */
export function ignoredFields({ context, forwardedProps }: RunInput): string[] {
  const isEmpty = (value: unknown): boolean =>
    value === null || value === undefined || ['[]', '{}'].includes(JSON.stringify(value))
  return [...(isEmpty(context) ? [] : ['context']), ...(isEmpty(forwardedProps) ? [] : ['forwardedProps'])]
}

/** `start` is the message, the decision or the answer that began the run. */
export type RunRef = { session: SessionRow; exchange: EventId; start: EventId }

export async function startRun(
  deps: CompatDeps,
  principal: Principal,
  agent: string,
  input: RunInput,
): Promise<RunRef> {
  const { id, session } = await findNamed(deps, principal, API, input.threadId)
  if (session !== null && session.agent !== agent)
    throw new AppError(
      'unsupported',
      `This thread is of the agent '${session.agent}', which does not change.`,
    )
  const sent = session === null ? [] : await sentMessages(deps, session, input)
  const fresh = newMessage(sent, input)
  const [entry] = input.resume ?? []
  if (session === null && entry !== undefined) throw interruptNotFound(entry.interruptId)
  const reaction =
    session === null
      ? null
      : await applyResume(deps, principal, session.id, input.resume ?? [], fresh !== null)
  if (fresh !== null) {
    const opened = session ?? (await openSession(deps, principal, { id, channel: API, agent }))
    const origin = { api: API, message_id: fresh.id, run_id: input.runId }
    const { content, images } = contentOf(fresh)
    const event = await say(deps, {
      session: opened,
      principal,
      content,
      images,
      origin,
      on_question: 'pass_over',
    })
    return refAt(deps, opened, event)
  }
  if (session === null)
    throw new AppError('invalid_body', 'messages: must end with a message of the user in a new thread.')
  if (reaction !== null) return { ...(await refAt(deps, session, reaction)), start: reaction }
  return refAt(deps, session, knownMessage(sent, input))
}

/** The messages of the log from the first that the client holds on. */
function sentMessages(
  { store }: CompatDeps,
  session: SessionRow,
  { messages: held }: RunInput,
): Promise<SentMessage[]> {
  const first = held.filter(({ role }) => role === 'user').slice(0, -1)[0]?.id
  return recentMessages(
    store,
    session,
    messages => first === undefined || messages.some(({ event }) => userMessageId(saidOf(event)) === first),
  )
}

/** The run of the exchange that an event is of. */
async function refAt({ store }: CompatDeps, session: SessionRow, event: EventId): Promise<RunRef> {
  const exchange = await findExchange(store, session.id, event)
  if (exchange === null) throw new Error(`[ag-ui] event ${event} of session ${session.id} is of no exchange`)
  return { session, exchange, start: exchange }
}

/** The last message of a person if the log does not have it. */
function newMessage(sent: readonly SentMessage[], { messages, runId }: RunInput): HeldMessage | null {
  const users = messages.filter(({ role }) => role === 'user')
  const last = users.at(-1)
  if (last === undefined) return null
  const known = sent.map(({ event, begins }) => ({ id: userMessageId(saidOf(event)), begins, event }))
  const found = known.find(({ id }) => id === last.id)
  if (found === undefined) {
    checkHistory(
      known,
      users.slice(0, -1).map(({ id }) => id),
    )
    return last
  }
  if (found.event.data.content !== contentOf(last).content) throw historyDiffers('The message was edited.')
  const isRepeated = sent.some(({ event }) => compatOrigin(event.data.metadata).run_id === runId)
  const later = known.slice(known.indexOf(found) + 1).find(({ begins }) => begins)
  if (later !== undefined && !isRepeated) throw historyDiffers('Later messages are missing.')
  return null
}

/** The message of this run, or the last one that the client holds, or the last of the thread. */
function knownMessage(sent: readonly SentMessage[], { messages, runId }: RunInput): EventId {
  const ofRun = sent.findLast(({ event }) => compatOrigin(event.data.metadata).run_id === runId)
  const held = new Set(messages.map(({ id }) => id))
  const last = ofRun ?? sent.findLast(({ event }) => held.has(userMessageId(saidOf(event)))) ?? sent.at(-1)
  if (last === undefined) throw new AppError('invalid_body', 'messages: must end with a message of the user.')
  return last.event.id
}

/** The text and the images of a message of a person. */
function contentOf({ content = '' }: HeldMessage): { content: string; images: z.infer<typeof Image>[] } {
  if (typeof content === 'string') return { content, images: [] }
  const texts: string[] = []
  const images: z.infer<typeof Image>[] = []
  for (const part of content) {
    const source = Source.safeParse(part['source']).data
    if (part.type === 'text') texts.push(String(part['text'] ?? ''))
    else if (part.type === 'image' && source !== undefined)
      images.push({ data: source.value, mime_type: source.mimeType })
    else
      throw new AppError(
        'unsupported',
        `Parts of type ${part.type.slice(0, 100)} are not supported here: send text, and PNG, JPEG, GIF or ` +
          'WebP images as data. Other files: POST /v1/sessions/{id}/workspace/file.',
      )
  }
  return { content: texts.join('\n'), images }
}
const Source = z.looseObject({ type: z.literal('data'), value: z.string(), mimeType: Image.shape.mime_type })

/** Sends decisions and answers, and returns the event of the first one that was given. */
async function applyResume(
  deps: CompatDeps,
  principal: Principal,
  session_id: string,
  resume: readonly Resume[],
  hasMessage: boolean,
): Promise<EventId | null> {
  const commands = []
  for (const entry of resume) commands.push(await commandOf(deps, principal, session_id, entry, hasMessage))
  let first: EventId | null = null
  for (const run of commands) {
    const reaction = await run()
    first ??= reaction
  }
  return first
}

type Command = () => Promise<EventId | null>

const interruptNotFound = (id: string): AppError =>
  new AppError('not_found', `Interrupt ${JSON.stringify(id.slice(0, 100))} not found.`)

async function commandOf(
  deps: CompatDeps,
  principal: Principal,
  session_id: string,
  { interruptId, status, payload }: Resume,
  hasMessage: boolean,
): Promise<Command> {
  const isCancelled = status === 'cancelled'
  const gate = numberIn('apr_', interruptId)
  if (gate !== null) {
    const { approved, ...more } = isCancelled ? { approved: false } : checkValue(Decision, payload)
    return async () => {
      const item = await decide(deps, principal, { session_id, gate }, { approve: approved, ...more })
      return findReaction(deps, session_id, gate, item)
    }
  }
  const ask = numberIn('ask_', interruptId)
  const question = ask === null ? undefined : await questionOf(deps.store, session_id, ask)
  if (ask === null || question === undefined) throw interruptNotFound(interruptId)
  // A new message passes over the question; without one, the turn ends.
  if (isCancelled)
    return async () => {
      if (!hasMessage) await stop(deps, session_id)
      return null
    }
  const output: AskOutput =
    question === null ? { completed: true, ...checkValue(Note, payload ?? {}) } : checkValue(Answers, payload)
  return async () =>
    findReaction(deps, session_id, ask, await answer(deps, principal, { session_id, ask }, output))
}

const Decision = z.object({
  approved: z.boolean(),
  reason: z.string().min(1).optional(),
  shown_hash: z.string().optional(),
})
const Note = z.object({ note: z.string().min(1).optional() })
const Answers = z.object({
  responses: z.array(z.object({ question: z.string(), answer: z.string() })).min(1),
})
