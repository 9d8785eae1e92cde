/**
 * What a refusal shows about a server: a list of rules from the words of refusals to facts of its profile.
 * The first rule that changes the profile counts. A request that follows the changed profile is sent next, so
 * a wrong guess costs one request, and a right one is remembered.
 */
import { isOverflow } from '../refusal-meaning.ts'
import type { ServerProfile } from './profiles.ts'
import type { Refusal } from './refusal.ts'
import type { ContentKind, Lesson, SentImage, SentRequestFacts } from './sent-facts.ts'
import { toolLesson } from './tool-lessons.ts'

/** One pattern of several, each of which counts. */
const anyOf = (...patterns: readonly RegExp[]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join('|'), 'i')

type Rule = (refusal: Refusal, sent: SentRequestFacts) => Lesson | null

/** Statuses of refusals that are not about the request's content. */
const OTHER_STATUSES = new Set([401, 402, 403, 407, 408, 409, 425, 429, 502, 503, 504])

/** Null: the refusal shows nothing that can be changed. */
export function lessonOf(refusal: Refusal, sent: SentRequestFacts): Lesson | null {
  if (refusal.status !== undefined && OTHER_STATUSES.has(refusal.status)) return null
  // A request that is too long needs a compaction, unless the reason is its tools or the limit of the answer.
  const { text, param } = refusal
  const isTooLong = OVERFLOW.test(text) || isOverflow({ message: text, kinds: [], param: param || null })
  const rules = isTooLong ? LENGTH_RULES : [...LENGTH_RULES, ...RULES]
  for (const rule of rules) {
    const lesson = rule(refusal, sent)
    if (lesson !== null && changes(lesson, sent.profile)) return lesson
  }
  return null
}

const changes = (lesson: Lesson, profile: ServerProfile): boolean =>
  (Object.keys(lesson) as (keyof ServerProfile)[]).some(fact => {
    const [before, after] = [profile[fact], lesson[fact]]
    return Array.isArray(before) && Array.isArray(after)
      ? after.some(one => !before.includes(one))
      : before !== after
  })

const OVERFLOW =
  /context.?(length|window|size)|(maximum|max) (context|prompt)|prompt is too long|too many (input )?tokens/i

const maxTokens: Rule = ({ param, text }, { fields, profile }) => {
  const field = ['max_tokens', 'max_completion_tokens'].find(name => name in fields)
  if (field === undefined || !(/max_(completion_|new_)?tokens/.test(param) || text.includes(field)))
    return null
  const asked = Number(fields[field])
  const window = /(?:maximum|max) context length (?:is|of) (\d+)/i.exec(text)?.[1]
  // More than half of the window for the answer alone leaves no room for a conversation.
  if (window !== undefined)
    return asked * 2 > Number(window)
      ? { max_tokens_limit: Math.max(1, Math.floor(Number(window) / 4)) }
      : null
  if (OVERFLOW.test(text)) return null
  const other = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  if (
    new RegExp(`(use|try|instead|did you mean)[^.]*['"\`]?${other}\\b|\\b${other}['"\`]? instead`, 'i').test(
      text,
    )
  )
    return profile.omitted_fields.includes(other)
      ? { omitted_fields: [...profile.omitted_fields, field] }
      : { max_tokens_field: other }
  const limit = numbersIn(text).filter(number => number < asked && number > 0)
  if (
    /too (large|big|high)|at most|less than|maximum|exceed|<=|range|between/i.test(text) &&
    limit.length > 0
  )
    return { max_tokens_limit: Math.max(...limit) }
  // A server that knows neither name has its own limit.
  const omitted = [...profile.omitted_fields, field]
  return omitted.includes(other)
    ? { omitted_fields: omitted }
    : { omitted_fields: omitted, max_tokens_field: other }
}

const numbersIn = (text: string): number[] => [...text.matchAll(/\d+/g)].map(([number]) => Number(number))

const signatures: Rule = ({ text }) =>
  /thought_?signature/i.test(text) ? { thought_signatures: true } : null

const REQUIRED = anyOf(
  /must be (passed|sent|provided|included|returned)/,
  /missing|required|expected|is not set/,
  /cannot be (empty|null)/,
)
const UNWANTED = anyOf(
  /not (supported|permitted|allowed|expected)/,
  /unsupported|unknown|unrecognized|unexpected|extra|forbid|remove/,
)

/** Blocks of another account or model, whose signatures this server does not accept. */
const thinkingBlocks: Rule = ({ text }) =>
  /signature/i.test(text) && /thinking/i.test(text) ? { keeps_reasoning: 'none' } : null

const reasoning: Rule = ({ param, text }, { reasoningFields, profile }) => {
  const named = [param, text].some(words => /reasoning(_content|_details)?\b/i.test(words))
  if (!named) return null
  if (REQUIRED.test(text) && profile.keeps_reasoning !== 'all') return { keeps_reasoning: 'all' }
  if (!UNWANTED.test(text)) return null
  const field = ['reasoning_details', 'reasoning_content', 'reasoning'].find(
    name => reasoningFields.includes(name) && (param.includes(name) || text.includes(name)),
  )
  if (field === undefined) return null
  return field === 'reasoning_details'
    ? { omitted_fields: [...profile.omitted_fields, field] }
    : { keeps_reasoning: 'none' }
}

/** One picture that cannot be read, as opposed to a model that reads none. */
const BAD_IMAGE = anyOf(
  /image[^.]{0,60}(format|type|size|dimension|pixel|too (large|small|big)|exceed)/,
  /image[^.]{0,60}(decode|corrupt|truncated|process)/,
  /(decode|process|parse|load|open|identify|read|invalid|corrupt)\w*[^.]{0,30}image/,
  /base64/,
)
const IMAGE_LIMIT = anyOf(
  /at most (\d+) image/,
  /(?:maximum|max)(?: number)?(?: of)? images?\D{0,30}(\d+)/,
  /images?\D{0,40}(?:limit|maximum|at most)\D{0,20}(\d+)/,
)
const NO_VISION = anyOf(
  /(not|n't|cannot|un)\s?-?(support|accept|able|allow|enabled|capable|a (vision|multimodal))/,
  /no endpoints|unknown variant|mmproj|at most 0|missing data required for image/,
  /only (supports?|accepts?)? ?text|text[- ]only/,
  /must be a string|valid string|'array' not in|expected (a )?[`'"]?(text|string)/,
)

/** Whether the message that a refusal names, if any, has such a content. */
function mayMean({ param, text }: Refusal, { contents }: SentRequestFacts, kind: ContentKind): boolean {
  const index = /messages?\W{1,3}(\d+)/i.exec(`${param} ${text}`)?.[1]
  return index === undefined ? contents.includes(kind) : contents[Number(index)] === kind
}

const images: Rule = (refusal, sent) => {
  const { param, text } = refusal
  const { images: sentImages, profile } = sent
  if (!mayMean(refusal, sent, 'parts')) return null
  const isAbout =
    /image|vision|multi-?modal|picture|mmproj/i.test(text) ||
    /image_url/.test(param) ||
    (/messages?\W*\d+\W*content|\bcontent\b/i.test(`${param} ${text}`) && NO_VISION.test(text))
  if (!isAbout) return null
  const limit = IMAGE_LIMIT.exec(text)
    ?.slice(1)
    .find(number => number !== undefined)
  if (limit !== undefined && Number(limit) > 0 && Number(limit) < sentImages.length)
    return { max_images: Number(limit) }
  if (BAD_IMAGE.test(text) && !/support image|image input/i.test(text)) return omitNewest(sentImages, profile)
  return NO_VISION.test(text) ? { vision: false } : omitNewest(sentImages, profile)
}

/** A refusal does not say which picture it means; it is most likely the one that is new. */
function omitNewest(images: readonly SentImage[], { omitted_images }: ServerProfile): Lesson | null {
  const newest = images.at(-1)
  return newest === undefined ? null : { omitted_images: [...omitted_images, newest.key] }
}

const ROLES = anyOf(
  /roles?[^.]{0,40}alternat|alternat[^.]{0,40}roles?/,
  /unexpected role|expected last role|consecutive|not the same role|prefill/,
  /role ['"]?\w+['"]? (after|follow)/,
  /follow(ed|s)? (by )?(a |an )?['"`]?(user|assistant|tool)/,
  /immediately after a (user|function)/,
  /must (start|begin|end) with|(first|last) message/,
)
const NO_SYSTEM = anyOf(
  /(system|developer)[ _](role|message|instruction|prompt)s?[^.]{0,40}(not|n't|un)\s?(support|allow|enabled|accept)/,
  /(does not|doesn't) support[^.]{0,20}(system|developer)/,
)

const roles: Rule = ({ text }, { profile }) => {
  if (NO_SYSTEM.test(text)) return { system_role: 'user' }
  if (ROLES.test(text) || (/\b3230\b/.test(text) && /role/i.test(text)))
    return profile.strict_roles ? null : { strict_roles: true }
  return null
}

const ID_NAMES = /tool[_ ]?call[_ ]?ids?|tool_calls?\W*\d*\W*id\b|tool_use[_.]id|toolUseId|call ids?\b/i

/** The ids that a refusal describes. */
function describedIds(text: string): Lesson | null {
  const max = /(?:maximum|max) length(?: of)? (\d+)|at most (\d+) char|longer than (\d+)/i.exec(text)
  const exact =
    /must (?:be|have)[^.;]{0,40}length(?: of)? (\d+)|length (?:of |must be |exactly )?(\d+)/i.exec(text)
  const length = Number((max ?? exact)?.slice(1).find(number => number !== undefined) ?? 0)
  if (length >= 6 && length <= 64)
    return max
      ? { tool_id_pattern: `^[a-zA-Z0-9_-]{1,${length}}$`, tool_id_length: Math.min(24, length) }
      : { tool_id_pattern: `^[a-zA-Z0-9]{${length}}$`, tool_id_length: length }
  const pattern = quotedPattern(text)
  return pattern === undefined ? null : { tool_id_pattern: pattern }
}

/** Ids that ever fewer servers refuse. */
const SAFE_IDS: readonly Lesson[] = [
  { tool_id_pattern: '^[a-zA-Z0-9_-]{1,40}$', tool_id_length: 24 },
  { tool_id_pattern: '^[a-zA-Z0-9]{9,40}$', tool_id_length: 24 },
  { tool_id_pattern: '^[a-zA-Z0-9]{9}$', tool_id_length: 9 },
]

const callIds: Rule = ({ param, text }, { profile }) => {
  if (!ID_NAMES.test(`${param} ${text}`)) return null
  if (!/invalid|must|match|alphanumeric|character|length|too long|constraint/i.test(text)) return null
  const described = describedIds(text)
  const candidates = described === null ? SAFE_IDS : [described, ...SAFE_IDS]
  const tried = candidates.findLastIndex(({ tool_id_pattern }) => tool_id_pattern === profile.tool_id_pattern)
  return candidates[tried + 1] ?? null
}

const toolNames: Rule = ({ param, text }) => {
  if (!/function\W{0,2}name|tool\W{0,3}name|tool_use\.name|\.name\b/i.test(`${param} ${text}`)) return null
  const pattern = quotedPattern(text)
  if (pattern !== undefined) return { tool_name_pattern: pattern }
  const max = /(?:maximum|max) length(?: of)? (\d+)/i.exec(text)?.[1]
  if (/start with a letter/i.test(text))
    return { tool_name_pattern: `^[a-zA-Z][a-zA-Z0-9_-]{0,${Number(max ?? 64) - 1}}$` }
  return max === undefined || Number(max) < 1 ? null : { tool_name_pattern: `^[a-zA-Z0-9_-]{1,${max}}$` }
}

/** A pattern that a refusal quotes; it must accept the plainest texts. */
function quotedPattern(text: string): string | undefined {
  const source = /\^?\[[^\s'"`]+\](?:\{\d*,?\d*\}|[+*])\$?/.exec(text)?.[0]
  if (source === undefined) return undefined
  const bare = source.replace(/^\^/, '').replace(/\$$/, '')
  const pattern = `^${bare.replace(/[+*]$/, '{1,64}')}$`
  try {
    const compiled = new RegExp(pattern)
    return ['unknown_tool', 'a1b2c3d4e'].some(plain => compiled.test(plain)) ? pattern : undefined
  } catch {
    // Not a regular expression of this language.
    return undefined
  }
}

const emptyContent: Rule = (refusal, sent) => {
  const { param, text } = refusal
  const isAbout =
    mayMean(refusal, sent, 'none') &&
    /content/i.test(`${param} ${text}`) &&
    /null|none|string type|valid string|missing|required|empty|invalid type/i.test(text)
  return isAbout ? { empty_call_content: 'empty' } : null
}

const thinking: Rule = ({ text }, { fields }) =>
  'thinking' in fields && /adaptive|thinking\.type/i.test(text) ? { thinking: 'budget' } : null

const jsonSchema: Rule = ({ text }, { fields, profile }) =>
  'response_format' in fields && /response_format|json_schema|structured output/i.test(text)
    ? { omitted_fields: [...profile.omitted_fields, 'response_format'] }
    : null

/** Words of any refusal of a field. */
const REFUSED = anyOf(
  /not (supported?|permitted|allowed|expected|accept)/,
  /(un|in)(supported|known|recognized|expected|valid)|unrecogni[sz]ed/,
  /extra|only the default|deprecated|must be|cannot|does(n't| not)|forbid|remove|no such/,
  /out of range|greater than|less than|between/,
)

/** Leaves out the optional field that the refusal names. The tools have their own rules. */
const anyField: Rule = ({ param, text }, { fields, callFields, reasoningFields, profile }) => {
  const own = Object.keys(fields).filter(name => name !== 'stream')
  const inner = [...callFields, ...reasoningFields]
  const path = param.split(/[.[\]]+/)
  const named =
    [...own, ...inner, 'stream'].find(name => name === param || path.includes(name)) ??
    own.find(name => new RegExp(`(?<![\\w.])${name}(?!\\w)`, 'i').test(text)) ??
    inner.find(name => new RegExp(`(?<!\\w)${name}(?!\\w)`).test(text)) ??
    (NO_STREAM.test(text) ? 'stream' : undefined)
  if (named === undefined || (named === 'stream' && !('stream' in fields))) return null
  return param === '' && !REFUSED.test(text) ? null : { omitted_fields: [...profile.omitted_fields, named] }
}

const NO_STREAM =
  /stream(ing)?['"`]? (is |mode )?(not|un)\s?(supported|available|allowed)|not support (stream\b|streaming)/i

const LENGTH_RULES: readonly Rule[] = [toolLesson, maxTokens]
const RULES: readonly Rule[] = [
  signatures,
  thinkingBlocks,
  jsonSchema,
  thinking,
  callIds,
  images,
  roles,
  reasoning,
  toolNames,
  anyField,
  emptyContent,
]
