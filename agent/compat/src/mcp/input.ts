/** Questions to a person as elicitations of MCP, and their answers as commands. */
import type { EventId, Principal, Question } from '@cairn/protocol'
import type { PrimitiveSchemaDefinition } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { CompatDeps } from '../deps.ts'
import { answer, decide } from '../request/command.ts'
import type { OpenAsk, OpenGate, OpenItems } from './progress.ts'
import { invalidParams } from './errors.ts'

type FormProperty = PrimitiveSchemaDefinition
/** A form; the other mode of elicitation only reports that an address was opened, not that it is done. */
type Elicitation = {
  method: 'elicitation/create'
  params: {
    mode: 'form'
    message: string
    requestedSchema: { type: 'object'; properties: Record<string, FormProperty>; required: string[] }
  }
}

const MAX_ARGUMENTS = 4_000

const keyOf = (event: EventId, item: OpenGate | OpenAsk): string =>
  `${item.kind === 'gate' ? 'apr' : 'ask'}_${event}`

/** The elicitations of what is open, by key. */
export const elicitationsOf = (open: OpenItems): Record<string, Elicitation> =>
  Object.fromEntries([...open].map(([event, item]) => [keyOf(event, item), elicitationOf(item)]))

function elicitationOf(item: OpenGate | OpenAsk): Elicitation {
  if (item.kind === 'gate') return approvalForm(item)
  return item.question === null ? actionForm(item) : questionForm(item.question)
}

const form = (
  message: string,
  properties: Record<string, FormProperty>,
  required: string[],
): Elicitation => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } },
})

/** Text that is longer than the limit cannot be approved here: the person would not see all of it. */
const isShownWhole = ({ input }: OpenGate): boolean => JSON.stringify(input).length <= MAX_ARGUMENTS

function approvalForm(gate: OpenGate): Elicitation {
  const whole = isShownWhole(gate)
  const shown = JSON.stringify(gate.input, null, 2).slice(0, MAX_ARGUMENTS)
  const note = whole ? '' : '\n(The arguments are too long for this form: approve the call in the inbox.)'
  return form(
    `The agent wants to call ${gate.name}. ${gate.reason}\n${shown}${note}`,
    {
      decision: { type: 'string', title: 'Decision', enum: whole ? ['approve', 'reject'] : ['reject'] },
      reason: { type: 'string', title: 'Reason (optional)', maxLength: 500 },
    },
    ['decision'],
  )
}

function questionForm({ questions, context }: NonNullable<OpenAsk['question']>): Elicitation {
  const properties = Object.fromEntries(questions.map((each, at) => [`answer_${at + 1}`, fieldOf(each)]))
  const prompts = questions.map(({ prompt }) => prompt).join('\n')
  return form(context === null ? prompts : `${context}\n${prompts}`, properties, Object.keys(properties))
}

/** Choices bind only where the agent takes no other answer. */
function fieldOf({ prompt, choices, allow_other }: Question): FormProperty {
  const labels = (choices ?? []).map(({ label }) => label)
  if (labels.length === 0) return { type: 'string', title: prompt }
  return allow_other === false
    ? { type: 'string', title: prompt, enum: labels }
    : { type: 'string', title: prompt, description: `One of: ${labels.join(', ')}; or another answer.` }
}

function actionForm({ action }: OpenAsk): Elicitation {
  const { title, instructions, target } = action ?? { title: '', instructions: '', target: null }
  return form(
    [title, instructions, ...(target === null ? [] : [target])].join('\n'),
    {
      done: { type: 'boolean', title: 'Done' },
      note: { type: 'string', title: 'Note (optional)', maxLength: 2000 },
    },
    ['done'],
  )
}

const Response = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), z.unknown()).nullish(),
})
const ApprovalContent = z.looseObject({
  decision: z.enum(['approve', 'reject']),
  reason: z.string().optional(),
})
const ActionContent = z.looseObject({ done: z.boolean(), note: z.string().optional() })

const DECLINED = 'The user declined to answer.'

/**
 * Runs the responses to what is open, and returns the keys that stay open: of the others, each is decided or
 * answered. A response to something else is ignored: it was answered elsewhere, or the client invented it.
 */
export async function applyResponses(
  deps: CompatDeps,
  principal: Principal,
  session_id: string,
  open: OpenItems,
  responses: Readonly<Record<string, unknown>>,
): Promise<void> {
  const plans = [...open].flatMap(([event, item]) => {
    const key = keyOf(event, item)
    if (!Object.hasOwn(responses, key)) return []
    const response = checked(Response, responses[key], key)
    return [planOf(deps, principal, { session_id, event, key }, item, response)]
  })
  for (const run of plans) await run?.()
}

type Place = { session_id: string; event: EventId; key: string }
/** Null: the response leaves the item open. */
type Plan = (() => Promise<unknown>) | null

function planOf(
  deps: CompatDeps,
  principal: Principal,
  { session_id, event, key }: Place,
  item: OpenGate | OpenAsk,
  { action, content }: z.infer<typeof Response>,
): Plan {
  if (action === 'cancel') return null
  const isAccepted = action === 'accept'
  if (item.kind === 'gate') {
    const { decision, reason } = isAccepted
      ? checked(ApprovalContent, content, key)
      : { decision: 'reject' as const, reason: undefined }
    if (decision === 'approve' && !isShownWhole(item))
      throw invalidParams(`${key}: the arguments are too long to approve in a form. Use the inbox.`)
    const shown_hash = item.shown_hash ?? undefined
    return () =>
      decide(
        deps,
        principal,
        { session_id, gate: event },
        { approve: decision === 'approve', reason, shown_hash },
      )
  }
  if (item.question === null) {
    const { done, note } = isAccepted
      ? checked(ActionContent, content, key)
      : { done: false, note: undefined }
    return done ? () => answer(deps, principal, { session_id, ask: event }, { completed: true, note }) : null
  }
  const given = isAccepted ? checked(z.record(z.string(), z.unknown()), content, key) : null
  const responses = item.question.questions.map(({ prompt, choices, allow_other }, at) => {
    const text = given === null ? DECLINED : given[`answer_${at + 1}`]
    if (typeof text !== 'string') throw invalidParams(`${key}: answer_${at + 1} must be a string.`)
    const labels = (choices ?? []).map(({ label }) => label)
    if (given !== null && allow_other === false && labels.length > 0 && !labels.includes(text))
      throw invalidParams(`${key}: answer_${at + 1} must be one of ${labels.join(', ')}.`)
    return { question: prompt, answer: text }
  })
  return () => answer(deps, principal, { session_id, ask: event }, { responses })
}

function checked<T>(schema: z.ZodType<T>, value: unknown, key: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalidParams(`${key}: ${issue?.path.join('.') || 'response'}: ${issue?.message ?? 'invalid'}`)
}
