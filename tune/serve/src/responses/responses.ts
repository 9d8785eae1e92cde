/**
 * /v1/responses: OpenAI's newer form of a chat. A request is converted to a chat request, and its answer to
 * the items of a response. Nothing is stored: each request contains the whole conversation.
 */
import { chat } from '../chat.ts'
import type { ReplyContext, SendChunk } from '../completions.ts'
import { badRequest } from '../errors.ts'
import { checkParameters } from '../parameters/check.ts'
import { chatRequest, type ChatRequest, type RequestMessage } from '../protocol.ts'
import type { ServedModel } from '../served-model.ts'
import type { InputItem, ResponsesRequest } from './request.ts'
import { createOutput, type OutputItem, type ResponseEvent } from './response-items.ts'

/** A message's content, which is a text or a list of text parts. */
function textOf(content: InputItem['content'], where: string): string {
  if (typeof content === 'string') return content
  return (content ?? [])
    .map(({ type, text }) => {
      if (['input_text', 'output_text', 'reasoning_text', 'text'].includes(type) && text !== undefined)
        return text
      throw badRequest(
        `${where}: unsupported part of type ${JSON.stringify(type)}: the model reads only text`,
        'input',
      )
    })
    .join('\n')
}

/** Items in order. Consecutive thoughts and calls form one message of the assistant. */
function messagesOf({ input, instructions }: ResponsesRequest): RequestMessage[] {
  const messages: RequestMessage[] = instructions ? [{ role: 'system', content: instructions }] : []
  const assistant = () => {
    const last = messages.at(-1)
    if (last?.role === 'assistant') return last
    const made: RequestMessage = { role: 'assistant', content: '' }
    messages.push(made)
    return made
  }
  for (const [i, item] of (typeof input === 'string'
    ? [{ role: 'user', content: input }]
    : input
  ).entries()) {
    const where = `input[${i}]`
    switch (item.type ?? 'message') {
      case 'message': {
        const content = textOf(item.content, where)
        if (!item.role) throw badRequest(`${where}: a message needs a role`, 'input')
        const last = messages.at(-1)
        // Thoughts before it belong to the same turn.
        if (
          item.role === 'assistant' &&
          last?.role === 'assistant' &&
          last.content === '' &&
          !last.tool_calls
        )
          last.content = content
        else messages.push({ role: item.role === 'developer' ? 'system' : item.role, content })
        break
      }
      case 'reasoning':
        assistant()['reasoning_content'] = textOf(item.content, where)
        break
      case 'function_call': {
        const message = assistant()
        const called = { name: item.name ?? '', arguments: item.arguments ?? '' }
        const call = { type: 'function' as const, id: item.call_id ?? '', function: called }
        message.tool_calls ??= []
        message.tool_calls.push(call)
        break
      }
      case 'function_call_output':
        messages.push({ role: 'tool', tool_call_id: item.call_id ?? '', content: textOf(item.output, where) })
        break
      default:
        throw badRequest(`${where}: items of type ${JSON.stringify(item.type)} are not supported`, 'input')
    }
  }
  return messages
}

/** Converts the request to a chat request. */
function chatOf(request: ResponsesRequest): ChatRequest {
  const { tools, tool_choice: choice, text, max_output_tokens: maxTokens } = request
  const format = text?.format
  const made = {
    messages: messagesOf(request),
    temperature: request.temperature,
    top_p: request.top_p,
    stream: true,
    parallel_tool_calls: request.parallel_tool_calls,
    ...(maxTokens ? { max_completion_tokens: maxTokens } : {}),
    ...(tools?.length
      ? {
          tools: tools.map(({ name, description, parameters }) => ({
            type: 'function' as const,
            function: { name, description: description ?? undefined, parameters: parameters ?? undefined },
          })),
        }
      : {}),
    ...(choice
      ? {
          tool_choice:
            typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
        }
      : {}),
    ...(format && format.type !== 'text'
      ? {
          response_format:
            format.type === 'json_object'
              ? { type: 'json_object' }
              : { type: 'json_schema', json_schema: { name: format.name, schema: format.schema } },
        }
      : {}),
  }
  const parsed = chatRequest.safeParse(made)
  if (parsed.success) return parsed.data
  throw badRequest(parsed.error.issues[0]?.message ?? 'invalid request', 'input')
}

/** Answers a request. A stream is sent by `send` as it is generated. */
export async function respond(
  model: ServedModel,
  request: ResponsesRequest,
  context: ReplyContext,
  send: SendChunk,
): Promise<object> {
  checkParameters('/v1/responses', request)
  const asked = chatOf(request)
  let number = 0
  const emit = (event: ResponseEvent) => {
    if (request.stream) send({ ...event, sequence_number: number++ })
  }
  const started = shell(request, context)
  const output = createOutput(emit)
  let isStarted = false
  const begin = () => {
    if (isStarted) return
    isStarted = true
    for (const type of ['response.created', 'response.in_progress']) emit({ type, response: started })
  }
  const reply = await chat(model, asked, context, chunk => {
    begin()
    if (!('choices' in chunk)) return
    for (const { delta } of chunk.choices as { delta: Parameters<typeof output.add>[0] }[]) output.add(delta)
  })
  begin()
  const isCut = reply.choices[0]?.finish_reason === 'length'
  output.end(isCut)
  const thought = output.items.flatMap(item => (item.type === 'reasoning' ? item.content : []))
  // A long thought is tokenised on another thread, so that it does not delay other requests.
  const encoded = await Promise.all(
    thought.map(({ text }) => model.texts.encode(text, { isDocument: false })),
  )
  const thoughtTokens = encoded.reduce((sum, ids) => sum + ids.length, 0)
  const response = { ...started, ...ended(output.items, reply.usage, thoughtTokens, isCut) }
  emit({ type: isCut ? 'response.incomplete' : 'response.completed', response })
  return response
}

/** The fields of a response that repeat its request. */
const shell = (request: ResponsesRequest, { id, created, name }: ReplyContext) => ({
  id,
  object: 'response',
  created_at: created,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: request.instructions ?? null,
  max_output_tokens: request.max_output_tokens ?? null,
  metadata: request.metadata ?? {},
  model: name,
  output: [] as OutputItem[],
  parallel_tool_calls: request.parallel_tool_calls ?? true,
  previous_response_id: null,
  store: false,
  temperature: request.temperature ?? 1,
  text: request.text ?? { format: { type: 'text' } },
  tool_choice: request.tool_choice ?? 'auto',
  tools: request.tools ?? [],
  top_p: request.top_p ?? 1,
  truncation: 'disabled',
  usage: null as object | null,
})

type ChatUsage = Awaited<ReturnType<typeof chat>>['usage']

const ended = (output: OutputItem[], usage: ChatUsage, thoughtTokens: number, isCut: boolean) => ({
  status: isCut ? 'incomplete' : 'completed',
  incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
  output,
  usage: {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.prompt_tokens_details.cached_tokens },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: thoughtTokens },
    total_tokens: usage.total_tokens,
  },
})
