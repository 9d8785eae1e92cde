/** Events that a client sends, as commands. All are checked before the first is written. */
import type { SessionRow } from '@cairn/log'
import { decodeEvent, type EventId, Image } from '@cairn/protocol'
import { defineOutcomes } from '@cairn/sessions'
import { z } from 'zod'
import { questionOf } from '../changes/exchange.ts'
import type { CallerRequest, CompatDeps } from '../deps.ts'
import { outputOf } from '../request/ask-output.ts'
import { checkValue } from '../request/body.ts'
import { answer, decide, say, stop } from '../request/command.ts'
import { findReaction } from '../request/reaction.ts'
import { findRepeated, hashOf } from '../request/retry.ts'
import type { Data } from './data.ts'
import { eventId } from './events.ts'
import { notFound, unsupported } from './errors.ts'
import { eventOfRecord } from './history.ts'

const API = 'managed-agents'
const Block = z.looseObject({ type: z.string() })
const Blocks = z.array(Block)

const SCHEMAS = {
  'user.message': z.strictObject({ type: z.literal('user.message'), content: Blocks.min(1) }),
  'user.interrupt': z.strictObject({
    type: z.literal('user.interrupt'),
    session_thread_id: z.null().optional(),
  }),
  'user.tool_confirmation': z.strictObject({
    type: z.literal('user.tool_confirmation'),
    tool_use_id: z.string(),
    result: z.enum(['allow', 'deny']),
    deny_message: z.string().nullish(),
  }),
  'user.custom_tool_result': z.strictObject({
    type: z.literal('user.custom_tool_result'),
    custom_tool_use_id: z.string(),
    content: Blocks.optional(),
    is_error: z.boolean().nullish(),
  }),
  'user.define_outcome': z.strictObject({
    type: z.literal('user.define_outcome'),
    description: z.string().min(1),
    rubric: z.looseObject({ type: z.string(), content: z.string().optional() }),
    max_iterations: z.int().min(1).nullish(),
  }),
}
type Sent = { [K in keyof typeof SCHEMAS]: z.infer<(typeof SCHEMAS)[K]> }[keyof typeof SCHEMAS]
/** What a request sends, checked as far as that is possible without the log. */
type Plan = { event: Sent; content: Content }
type Content = { text: string; images: z.infer<typeof Image>[] }

const isKnown = (type: string): type is keyof typeof SCHEMAS => Object.hasOwn(SCHEMAS, type)

/** Events that their API takes and Cairn does not, with the reason. */
export const REFUSED_EVENTS: Record<string, string> = {
  'system.message': 'The instructions of an agent are part of its configuration.',
  'user.tool_result': 'The agent runs its tools itself.',
}

export function planEvents(events: readonly unknown[], { isNew }: { isNew: boolean }): Plan[] {
  const plans = events.map(each => {
    const { type } = checkValue(Block, each)
    if (!isKnown(type)) throw unsupported(type.slice(0, 100), REFUSED_EVENTS[type] ?? 'It is not known.')
    if (isNew && type !== 'user.message' && type !== 'user.define_outcome')
      throw unsupported(`${type} in initial_events`, 'A new session has nothing that it could be about.')
    const event: Sent = checkValue<Sent>(SCHEMAS[type], each)
    return { event, content: 'content' in event ? contentOf(event.content ?? []) : { text: '', images: [] } }
  })
  requireOne(plans, 'user.message')
  requireOne(plans, 'user.define_outcome')
  for (const { event } of plans) checkRubric(event)
  return plans
}

function requireOne(plans: readonly Plan[], type: Sent['type']): void {
  if (plans.filter(({ event }) => event.type === type).length > 1)
    throw unsupported(`several ${type} in one request`, 'Send them one after the other.')
}

function checkRubric(event: Sent): void {
  if (event.type === 'user.define_outcome' && (event.rubric.type !== 'text' || !event.rubric.content))
    throw unsupported(`rubric of type '${event.rubric.type.slice(0, 100)}'`, 'Send the text of the rubric.')
}

function contentOf(blocks: z.infer<typeof Blocks>): Content {
  const texts: string[] = []
  const images: Content['images'] = []
  for (const block of blocks) {
    const source = Source.safeParse(block['source']).data
    if (block.type === 'text') texts.push(String(block['text'] ?? ''))
    else if (block.type === 'image' && source?.type === 'base64') images.push(imageOf(source))
    else if (block.type === 'document' && source?.type === 'text') texts.push(source.data ?? '')
    else
      throw unsupported(
        `content of type '${kindOf(block.type, source?.type)}'`,
        'Send text, documents as text, and images as base64.',
      )
  }
  return { text: texts.join('\n\n'), images }
}
const kindOf = (type: string, source: string | undefined): string =>
  [type, ...(source === undefined ? [] : [`from ${source}`])].join(' ').slice(0, 200)

const Source = z.looseObject({
  type: z.string(),
  data: z.string().optional(),
  media_type: z.string().optional(),
})

function imageOf({ data, media_type }: z.infer<typeof Source>): z.infer<typeof Image> {
  const type = Image.shape.mime_type.safeParse(media_type)
  if (!type.success)
    throw unsupported(`image of type '${String(media_type).slice(0, 100)}'`, 'Send PNG, JPEG, GIF or WebP.')
  return { data: data ?? '', mime_type: type.data }
}

type Command = () => Promise<EventId>

/** Writes the events in their order, and returns them as the log has them. */
export async function sendPlanned(
  deps: CompatDeps,
  request: CallerRequest,
  session: SessionRow,
  plans: readonly Plan[],
): Promise<Data[]> {
  const commands: { event: Sent; run: Command }[] = []
  for (const plan of plans)
    commands.push({ event: plan.event, run: await commandOf(deps, request, session, plan) })
  const sent: Data[] = []
  for (const { event, run } of commands) {
    const id = await run()
    const shown = await eventOfRecord(deps, session.id, { id, type: event.type })
    // An interrupt of a session at rest is not in the log.
    sent.push(shown ?? { id: eventId(id), processed_at: new Date(deps.now()).toISOString(), ...event })
  }
  return sent
}

async function commandOf(
  deps: CompatDeps,
  request: CallerRequest,
  session: SessionRow,
  { event, content }: Plan,
): Promise<Command> {
  const { principal } = request.caller
  const session_id = session.id
  switch (event.type) {
    case 'user.message': {
      const repeated = await findRepeated(deps, request, { session, channel: API })
      if (repeated !== null) return () => Promise.resolve(repeated.event)
      const { text, images } = content
      const origin = { api: API, request_hash: hashOf(request) }
      return () => say(deps, { session, principal, content: text, images, origin, on_question: 'refuse' })
    }
    case 'user.interrupt':
      return () => interrupt(deps, session_id)
    case 'user.tool_confirmation': {
      const gate = await gateOf(deps, session_id, event.tool_use_id)
      const reason = event.deny_message ?? undefined
      const decision = { approve: event.result === 'allow', reason }
      return async () => {
        const item = await decide(deps, principal, { session_id, gate }, decision)
        return (await findReaction(deps, session_id, gate, item)) ?? gate
      }
    }
    case 'user.custom_tool_result':
      return answerCommand(deps, request, session_id, event, content)
    case 'user.define_outcome':
      return () => define(deps, session_id, event)
  }
}

async function interrupt(deps: CompatDeps, session_id: string): Promise<EventId> {
  const before = (await deps.store.sessions.get(session_id))?.last_event_id ?? 0
  await stop(deps, session_id)
  const [stopped] = await deps.store.events.read(session_id, before, 1, ['session.stopped'])
  return stopped?.id ?? before
}

async function define(
  deps: CompatDeps,
  session_id: string,
  { description, rubric, max_iterations }: Extract<Sent, { type: 'user.define_outcome' }>,
): Promise<EventId> {
  const goal = { description, rubric: { type: 'text' as const, content: rubric.content ?? '' } }
  const [defined] = await defineOutcomes(deps, session_id, [
    max_iterations ? { ...goal, max_iterations } : goal,
  ])
  if (defined === undefined) throw new Error('[managed-agents] a goal was defined without an event')
  return defined.event_id
}

async function answerCommand(
  deps: CompatDeps,
  { caller: { principal } }: CallerRequest,
  session_id: string,
  { custom_tool_use_id: id, is_error }: Extract<Sent, { type: 'user.custom_tool_result' }>,
  { text }: Content,
): Promise<Command> {
  const ask = numberOf(id)
  const question = ask === null ? undefined : await questionOf(deps.store, session_id, ask)
  if (ask === null || question === undefined) throw notFound('Custom tool use', id)
  if (is_error === true)
    throw unsupported('is_error', 'Answer the question, or send user.interrupt to end the turn.')
  const output = outputOf(text, question)
  return async () => {
    const item = await answer(deps, principal, { session_id, ask }, output)
    return (await findReaction(deps, session_id, ask, item)) ?? ask
  }
}

/** The number of the record of the log that an event shows, whichever part of it. */
function numberOf(id: string): EventId | null {
  const digits = /^sevt_([1-9]\d{0,14})(?:_[1-9]\d{0,2})?$/.exec(id)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The approval of a call: its own record, or in logs of older releases the one after the call. */
async function gateOf({ store }: CompatDeps, session_id: string, tool_use_id: string): Promise<EventId> {
  const use = numberOf(tool_use_id)
  const missing = notFound('Tool use that waits for a confirmation', tool_use_id)
  if (use === null) throw missing
  const [stored] = await store.events.read(session_id, use - 1, 1)
  const event = stored?.id === use ? decodeEvent(stored.json) : null
  if (event?.type === 'inbox.governance_gate') return event.id
  if (event?.type !== 'tool.call') throw missing
  const { tool_call_id } = event.data
  for (let after: EventId | undefined = use; after !== undefined;) {
    const page = await store.events.read(session_id, after, 100, ['inbox.governance_gate'])
    for (const { json } of page) {
      const gate = decodeEvent(json)
      if (gate.type === 'inbox.governance_gate' && gate.data.tool_call_id === tool_call_id) return gate.id
    }
    after = page.at(-1)?.id
  }
  throw missing
}
