/**
 * Chooses the rule of a scenario that answers a request: a pure function of the conversation and of each
 * rule's number of answers.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Scenario, ScenarioAnswer, ScenarioRule } from './scenario.ts'
import type { Facts, PastCall } from './template.ts'

const Part = z.looseObject({ type: z.string(), text: z.string().optional() })
const Content = z.union([z.string(), z.array(Part)]).nullish()
const Call = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
})
const Message = z.looseObject({
  role: z.string(),
  content: Content,
  tool_calls: z.array(Call).nullish(),
  tool_call_id: z.string().nullish(),
})

/** The part of a chat-completions request that a scripted model reads. */
export const ChatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(Message),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z
        .looseObject({ name: z.string(), schema: z.record(z.string(), z.unknown()).nullish() })
        .nullish(),
    })
    .nullish(),
})
export type ChatRequest = z.infer<typeof ChatRequest>

export function factsOf(request: ChatRequest): Facts {
  const { messages } = request
  const calls = new Map<string, PastCall>()
  for (const message of messages) {
    for (const call of message.tool_calls ?? [])
      calls.set(call.id, { name: call.function.name, arguments: call.function.arguments, result: undefined })
    const answered = message.role === 'tool' ? calls.get(message.tool_call_id ?? '') : undefined
    if (answered) answered.result = textOf(message.content)
  }
  const users = messages.filter(message => message.role === 'user')
  const unanswered = messages.slice(messages.findLastIndex(message => message.role === 'assistant') + 1)
  const since = messages.slice(messages.findLastIndex(message => message.role === 'user') + 1)
  const answers = since.filter(message => message.role === 'assistant')
  const tail = messages.slice(messages.findLastIndex(message => message.role !== 'tool') + 1)
  const format = request.response_format
  return {
    model: request.model,
    system: messages
      .filter(message => message.role === 'system')
      .map(message => textOf(message.content))
      .join('\n\n'),
    user: textOf(users.at(-1)?.content),
    said: unanswered.flatMap(({ role, content }) => (role === 'user' ? [textOf(content)] : [])).join('\n'),
    turn: users.length,
    step: answers.length,
    toolCalls: answers.reduce((sum, message) => sum + (message.tool_calls?.length ?? 0), 0),
    tools: (request.tools ?? []).map(tool => tool.function.name),
    schema: format?.type === 'json_schema' ? (format.json_schema?.name ?? '') : undefined,
    calls: [...calls.values()],
    results: tail.map(message => ({
      name: calls.get(message.tool_call_id ?? '')?.name ?? '',
      content: textOf(message.content),
    })),
  }
}

export type Choice = { rule: ScenarioRule; answer: ScenarioAnswer; groups: readonly string[] }

/** The first matching rule; `used` counts the answers of each rule. */
export function chooseRule(
  scenario: Scenario,
  facts: Facts,
  used: ReadonlyMap<ScenarioRule, number>,
): Choice | undefined {
  for (const rule of scenario.rules) {
    if (rule.times !== undefined && (used.get(rule) ?? 0) >= rule.times) continue
    const answer = rule.answer ?? stepsOf(rule, facts)[facts.step]
    if (!answer || !fits(rule, answer, facts)) continue
    return {
      rule,
      answer,
      groups:
        rule.when.user === undefined
          ? []
          : [...(new RegExp(rule.when.user, 'i').exec(facts.user) ?? [])].map(group => group ?? ''),
    }
  }
  return undefined
}

const stepsOf = ({ steps = [] }: ScenarioRule, { tools }: Facts) =>
  steps.filter(
    ({ needs = [], without }) =>
      needs.every(tool => tools.includes(tool)) && without?.every(tool => tools.includes(tool)) !== true,
  )

const like = (pattern: string | undefined, text: string): boolean =>
  pattern === undefined || new RegExp(pattern, 'i').test(text)
const is = <T>(wanted: T | undefined, found: T): boolean => wanted === undefined || wanted === found

function fits({ when }: ScenarioRule, answer: ScenarioAnswer, facts: Facts): boolean {
  if (
    when.schema === undefined
      ? facts.schema !== undefined
      : facts.schema === undefined || (when.schema !== true && when.schema !== facts.schema)
  )
    return false
  // A call is impossible without offered tools, unless the rule asks for exactly that.
  if (answer.tool_calls && facts.tools.length === 0 && when.tools_disabled !== true) return false
  return (
    like(when.user, facts.user) &&
    like(when.system, facts.system) &&
    like(when.model, facts.model) &&
    is(when.turn, facts.turn) &&
    is(when.step, facts.step) &&
    is(when.tool_calls, facts.toolCalls) &&
    is(when.tools_disabled, facts.tools.length === 0) &&
    (when.tool === undefined || facts.results.some(result => result.name === when.tool)) &&
    (when.result === undefined || facts.results.some(result => like(when.result, result.content))) &&
    wasCalled(when.called, facts) &&
    (when.offers ?? []).every(tool => facts.tools.includes(tool))
  )
}

function wasCalled(wanted: ScenarioRule['when']['called'], { calls }: Facts): boolean {
  if (wanted === undefined) return true
  const { tool, pattern } =
    typeof wanted === 'string'
      ? { tool: wanted, pattern: undefined }
      : { tool: wanted.tool, pattern: wanted.arguments }
  const last = calls.findLast(call => call.name === tool)
  return last !== undefined && like(pattern, last.arguments)
}

/** A one-sentence description of the conversation, for the author of the missing rule. */
export function describeFacts({ turn, user, step, results, tools, schema }: Facts): string {
  const names = results.map(result => result.name).join(', ')
  return (
    `user message ${turn} ${JSON.stringify(user.slice(0, 120))}, step ${step}, ends with ` +
    `${names === '' ? 'no tool result' : `results of ${names}`}, ${tools.length} tools offered` +
    (schema === undefined ? '' : `, schema ${JSON.stringify(schema)}`)
  )
}

/** The same conversation yields the same ids; a longer one yields different ids. */
export function scriptedCallId({ messages }: ChatRequest, index: number): string {
  const digest = createHash('sha256').update(JSON.stringify(messages)).update(String(index)).digest('hex')
  return `call_${digest.slice(0, 20)}`
}

const textOf = (content: z.infer<typeof Content>): string =>
  typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('')
