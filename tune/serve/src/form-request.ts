/** The form that a request requires of its answer. */
import type { ChatPrompt } from './chat-prompt.ts'
import { badRequest } from './errors.ts'
import { MAX_SOURCE_LENGTH } from './grammar/budget.ts'
import { GrammarError } from './grammar/expression.ts'
import type { Form } from './grammar/forms.ts'
import type { Callable, FormSource } from './grammar/sources.ts'
import { isSchema, type Schema } from './grammar/schema-merge.ts'
import { plainSchema } from './plain-schema.ts'
import type { ChatRequest, SamplingRequest } from './protocol.ts'
import type { ServedModel } from './served-model.ts'

type FormField = { source: FormSource; param: string }
type Start = Pick<FormSource, 'startsInThought'>

/** A form rejects longer text anyway, so it is not parsed first. */
function checkText(text: string, param: string): void {
  if (text.length > 2 * MAX_SOURCE_LENGTH)
    throw badRequest(`${param}: longer than the maximum of ${MAX_SOURCE_LENGTH} characters`, param)
}

function schemaFrom(value: unknown, param: string): Schema {
  if (isSchema(value)) return value
  if (typeof value === 'string') {
    checkText(value, param)
    try {
      return schemaFrom(JSON.parse(value), param)
    } catch (error) {
      if (error instanceof SyntaxError) throw badRequest(`${param} is not JSON: ${error.message}`, param)
      throw error
    }
  }
  throw badRequest(`${param} must be a JSON schema, got ${JSON.stringify(value)}`, param)
}

function fromResponseFormat(
  { response_format: format }: SamplingRequest,
  start: Start,
): FormField | undefined {
  if (!format || format.type === 'text') return undefined
  const param = 'response_format'
  if (format.type === 'json_object') return { source: { kind: 'object', ...start }, param }
  if (format.json_schema?.schema === undefined)
    throw badRequest('response_format of type json_schema needs json_schema with name and schema', param)
  return {
    source: { kind: 'schema', schema: schemaFrom(format.json_schema.schema, param), ...start },
    param,
  }
}

const OUTPUT_KINDS = ['json', 'regex', 'choice', 'grammar', 'json_object'] as const
const NOT_OUTPUT: Readonly<Record<string, string>> = {
  structural_tag: 'use tools',
  whitespace_pattern: 'white space is always empty, one space, or a line break with indentation',
  disable_any_whitespace: 'white space is always empty, one space, or a line break with indentation',
  disable_additional_properties: 'set additionalProperties: false in the schema',
  disable_fallback: 'there is only one engine',
}

function fromStructuredOutputs(
  { structured_outputs: asked }: SamplingRequest,
  start: Start,
): FormField | undefined {
  if (!asked) return undefined
  const param = 'structured_outputs'
  const given = Object.entries(asked).filter(
    ([, value]) => value !== null && value !== undefined && value !== false,
  )
  for (const [key] of given) {
    const reason = Object.hasOwn(NOT_OUTPUT, key) ? NOT_OUTPUT[key] : undefined
    if (reason) throw badRequest(`structured_outputs.${key} is not supported: ${reason}.`, param)
    if (!(OUTPUT_KINDS as readonly string[]).includes(key))
      throw badRequest(
        `structured_outputs has no ${JSON.stringify(key)}; known: ${OUTPUT_KINDS.join(', ')}`,
        param,
      )
  }
  if (given.length !== 1)
    throw badRequest(
      `structured_outputs must have exactly one of ${OUTPUT_KINDS.join(', ')}, got ${given.length}`,
      param,
    )
  const { json, regex, choice, grammar } = asked
  const source: FormSource =
    regex !== undefined && regex !== null
      ? { kind: 'regex', pattern: regex, ...start }
      : choice !== undefined && choice !== null
        ? { kind: 'choice', texts: choice, ...start }
        : grammar !== undefined && grammar !== null
          ? { kind: 'grammar', text: grammar, ...start }
          : json !== undefined && json !== null
            ? { kind: 'schema', schema: schemaFrom(json, param), ...start }
            : { kind: 'object', ...start }
  return { source, param }
}

function fromToolChoice(request: ChatRequest, prompt: ChatPrompt): FormField | undefined {
  if (!prompt.isForced) return undefined
  const functions = (request.tools ?? []).map(({ function: { name, parameters } }): Callable => ({
    name,
    parameters: (plainSchema(parameters) as Schema | null) ?? undefined,
  }))
  const choice = request.tool_choice
  const named =
    typeof choice === 'object' && choice
      ? functions.find(({ name }) => name === choice.function.name)
      : undefined
  const [only] = functions
  if (prompt.harmony && only)
    return { source: { kind: 'call body', function: named ?? only, startsInThought: false }, param: 'tools' }
  return {
    source: named
      ? { kind: 'arguments', function: named, startsInThought: false }
      : {
          kind: 'calls',
          functions,
          isSingle: request.parallel_tool_calls === false,
          startsInThought: false,
        },
    param: 'tools',
  }
}

/** The form of a request's answers. Undefined allows any text. Throws for an unsupported form. */
export async function formOf(
  request: SamplingRequest,
  model: Pick<ServedModel, 'forms' | 'endTokens'>,
  chat?: { request: ChatRequest; prompt: ChatPrompt },
): Promise<Form | undefined> {
  const start = { startsInThought: chat?.prompt.startsInReasoning ?? false }
  const asked = [
    fromResponseFormat(request, start),
    fromStructuredOutputs(request, start),
    chat && fromToolChoice(chat.request, chat.prompt),
  ].filter(one => one !== undefined)
  const [only, other] = asked
  if (!only) return undefined
  const { source, param } = only
  if (other)
    throw badRequest(
      `${param} and ${other.param === 'tools' ? 'tool_choice' : other.param} set two formats; ` +
        'send one of them',
      param,
    )
  if (chat?.prompt.hasTools && param !== 'tools')
    throw badRequest(`${param} excludes tool calls; send tool_choice: "none" with it`, param)
  if (request.ignore_eos)
    throw badRequest(`${param} determines where the answer ends; remove ignore_eos`, 'ignore_eos')
  if (!model.forms)
    throw badRequest(
      `${param} needs a tokenizer whose tokens are bytes; ` +
        "the text of this model's tokens depends on their neighbours",
      param,
    )
  if (model.endTokens.length === 0)
    throw badRequest(`${param} needs a model with an end token, which this model does not have`, param)
  await model.forms.ready()
  try {
    return model.forms.of(source)
  } catch (error) {
    if (error instanceof GrammarError) throw badRequest(`${param}: ${error.message}`, param)
    throw error
  }
}
