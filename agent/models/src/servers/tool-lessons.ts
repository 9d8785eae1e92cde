/** Refusals of the tools of a request: their number, a description, a schema keyword, or one tool. */
import type { Refusal } from './refusal.ts'
import type { Lesson, SentRequestFacts, SentTool } from './sent-facts.ts'

/** Null: the refusal is not about the tools. */
export function toolLesson(refusal: Refusal, sent: SentRequestFacts): Lesson | null {
  const { text, param } = refusal
  const { tools, profile } = sent
  // "tool_calls" are those of the conversation.
  if (tools.length === 0 || /messages?\W{0,2}\d|tool_call|thought_?signature/i.test(`${param} ${text}`))
    return null
  const limit = limitIn(text)
  const tool = toolNamedBy(refusal, tools)
  if (/description/i.test(`${param} ${text}`) && limit !== undefined && limit > 0) {
    const isTooLong = tools.some(({ description }) => description.length > limit)
    if (isTooLong) return { max_description: limit }
  }
  if (tool === undefined) {
    // Some servers name only the keyword.
    const refused = /schema/i.test(text) ? tools.map(each => keywordIn(text, each)) : []
    const keyword = refused.find(each => each !== undefined && !profile.omitted_keywords.includes(each))
    if (keyword !== undefined) return { omitted_keywords: [...profile.omitted_keywords, keyword] }
    const isNumber = /\b(tools|functions|function_declarations|declarations)\b/i.test(`${param} ${text}`)
    return isNumber && limit !== undefined && limit > 0 && limit < tools.length ? { max_tools: limit } : null
  }
  const keyword = keywordIn(text, tool)
  return keyword !== undefined && !profile.omitted_keywords.includes(keyword)
    ? { omitted_keywords: [...profile.omitted_keywords, keyword] }
    : { omitted_tools: [...profile.omitted_tools, tool.key] }
}

/** The limit that a refusal states, as opposed to what it got. */
function limitIn(text: string): number | undefined {
  const found =
    /(?:max(?:imum)?|limit|at most|up to|exceeds?|more than|no more than|<=|≤)[^\d]{0,50}(\d+)/i.exec(
      text,
    )?.[1] ?? /\((?:max|limit)\D{0,5}(\d+)\)/i.exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}

/** By index, as "tools[30]…" or "function_declarations[3]…", or by a quoted name. */
function toolNamedBy({ param, text }: Refusal, tools: readonly SentTool[]): SentTool | undefined {
  const where = `${param} ${text}`
  // Google's servers have all functions in one tool, so their index counts.
  const index =
    /function_?declarations\W{1,3}(\d+)/i.exec(where)?.[1] ?? /\btools(?:\W{1,4})(\d+)/i.exec(where)?.[1]
  const quoted = (name: string): boolean =>
    [`'${name}'`, `"${name}"`, `\`${name}\``].some(mention => text.includes(mention)) ||
    new RegExp(`(?:function|tool)s? ${escape(name)}(?![\\w-])`, 'i').test(text)
  const named = tools.find(({ name }) => quoted(name))
  if (named !== undefined && /schema|function|tool|parameter/i.test(where)) return named
  return index === undefined ? undefined : tools[Number(index)]
}

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/**
 * Keywords that only restrict or describe a value. Without them the model knows less, and the tool still
 * validates its arguments.
 */
const OPTIONAL_KEYWORDS = [
  'additionalProperties',
  'unevaluatedProperties',
  'patternProperties',
  'propertyNames',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'pattern',
  'format',
  'default',
  'examples',
  'title',
  'const',
  'contentEncoding',
  'contentMediaType',
  'dependentRequired',
  'dependentSchemas',
  'if',
  'then',
  'else',
  'not',
  'contains',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$id',
  '$anchor',
  'nullable',
]

/** The quoted keyword that the tool's schema contains. */
function keywordIn(text: string, { parameters }: SentTool): string | undefined {
  const schema = JSON.stringify(parameters)
  return OPTIONAL_KEYWORDS.find(
    keyword =>
      schema.includes(`"${keyword}":`) &&
      ["'", '"', '`'].some(quote => text.includes(`${quote}${keyword}${quote}`)),
  )
}
