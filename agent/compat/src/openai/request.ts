/** Requests of OpenAI's Responses API, as commands. */
import { type EventOf, Image } from '@cairn/protocol'
import { z } from 'zod'
import { checkValue } from '../request/body.ts'
import { unsupported } from './errors.ts'

const Metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine(all => Object.keys(all).length <= 16)
const Input = z.union([z.string(), z.array(z.looseObject({ type: z.string().optional() })).min(1)])

/** Keys with an effect. Others are in one of the two lists below, or unknown. */
export const CreateResponse = z.looseObject({
  model: z.string().optional(),
  input: Input,
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  previous_response_id: z.string().nullish(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  instructions: z.string().nullish(),
  temperature: z.number().nullish(),
  max_output_tokens: z.int().positive().nullish(),
  metadata: Metadata.nullish(),
})
export type CreateResponse = z.infer<typeof CreateResponse>

/** Accepted without effect. */
export const NO_EFFECT: readonly string[] = [
  'user',
  'safety_identifier',
  'service_tier',
  'parallel_tool_calls',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'stream_options',
]

/** Not supported: the values that mean the same as none, and the reason. */
export const REFUSED: Record<string, { none: readonly unknown[]; why: string }> = {
  tools: { none: ['[]'], why: 'The tools of an agent are part of its configuration.' },
  tool_choice: { none: ['"auto"'], why: 'The agent chooses its tools.' },
  text: { none: ['{"format":{"type":"text"}}'], why: 'Answers are text.' },
  top_logprobs: { none: ['0'], why: 'Log probabilities are not recorded.' },
  top_p: { none: ['1'], why: 'It is not a setting of a session.' },
  include: { none: ['[]'], why: 'Every item is complete.' },
  prompt: { none: [], why: 'Stored prompts do not exist: use an agent as the model.' },
  truncation: { none: ['"disabled"'], why: 'Long conversations are summarised by the agent.' },
  store: { none: ['true'], why: 'The log keeps every response.' },
  max_tool_calls: { none: [], why: 'The budget of an agent is part of its configuration.' },
  reasoning: { none: ['{}'], why: 'Reasoning is part of the configuration of a model.' },
  moderation: { none: [], why: 'Cairn has none.' },
  context_management: { none: [], why: 'Long conversations are summarised by the agent.' },
}

export function refuseParameters(body: CreateResponse, isNew: boolean): void {
  for (const [key, value] of Object.entries(body)) {
    if (
      value === null ||
      value === undefined ||
      Object.hasOwn(CreateResponse.shape, key) ||
      NO_EFFECT.includes(key)
    )
      continue
    const refused = REFUSED[key]
    if (refused === undefined) throw unsupported(key, 'It is not known.')
    if (!refused.none.includes(JSON.stringify(value))) throw unsupported(key, refused.why)
  }
  if (isNew) return
  for (const key of ['instructions', 'temperature', 'max_output_tokens'] as const)
    if (body[key] !== undefined && body[key] !== null)
      throw unsupported(key, 'It can only be set with the first response of a conversation.')
}

type Images = NonNullable<EventOf<'user.message'>['data']['images']>
type Decision = { approval: string; approve: boolean; reason?: string | undefined }
type Answer = { call: string; output: string }
/** What a request sends: one message, or decisions and answers. */
export type Sent =
  | { kind: 'message'; content: string; images: Images }
  | { kind: 'answers'; decisions: Decision[]; answers: Answer[] }

const Content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))])
const ApprovalResponse = z.looseObject({
  approval_request_id: z.string(),
  approve: z.boolean(),
  reason: z.string().nullish(),
})
const FunctionOutput = z.looseObject({ call_id: z.string(), output: z.string() })

export function sentOf(input: CreateResponse['input']): Sent {
  if (typeof input === 'string') return { kind: 'message', content: input, images: [] }
  const texts: string[] = []
  const images: Images = []
  const decisions: Decision[] = []
  const answers: Answer[] = []
  for (const item of input) {
    const { type = 'message' } = item
    if (type === 'mcp_approval_response') {
      const { approval_request_id, approve, reason } = checkValue(ApprovalResponse, item)
      decisions.push({ approval: approval_request_id, approve, reason: reason ?? undefined })
    } else if (type === 'function_call_output') {
      const { call_id, output } = checkValue(FunctionOutput, item)
      answers.push({ call: call_id, output })
    } else if (type === 'message') addMessageParts(item, texts, images)
    else
      throw unsupported(
        'input',
        `Items of type '${type.slice(0, 100)}' cannot be sent: the log has the history.`,
      )
  }
  if (decisions.length + answers.length === 0) return { kind: 'message', content: texts.join('\n\n'), images }
  if (texts.length + images.length > 0)
    throw unsupported('input', 'Send a message, or approvals and outputs, not both in one request.')
  return { kind: 'answers', decisions, answers }
}

function addMessageParts(item: Record<string, unknown>, texts: string[], images: Images): void {
  if (item['role'] !== 'user')
    throw unsupported(
      'input',
      `Messages of the role '${String(item['role']).slice(0, 100)}' cannot be sent: the log has the history.`,
    )
  const content = checkValue(Content, item['content'])
  if (typeof content === 'string') return void texts.push(content)
  for (const part of content) {
    if (part.type === 'input_text') texts.push(String(part['text'] ?? ''))
    else if (part.type === 'input_image') images.push(imageOf(part['image_url']))
    else throw unsupported('input', `Parts of type '${part.type.slice(0, 100)}' are not supported.`)
  }
}

function imageOf(url: unknown): Images[number] {
  const match = /^data:([^;,]*);base64,(.*)$/s.exec(typeof url === 'string' ? url : '')
  const type = Image.shape.mime_type.safeParse(match?.[1])
  if (!type.success) throw unsupported('input', 'Images must be data URLs of PNG, JPEG, GIF or WebP.')
  return { data: match?.[2] ?? '', mime_type: type.data }
}
