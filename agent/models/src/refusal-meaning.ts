/**
 * Whether a refused request was too long. No list of phrases is complete, so a refusal that names no cause at
 * all is reported as unexplained: for a long conversation, the turn then tries one compaction.
 */
export type Refusal = {
  kinds: readonly string[]
  message: string
  /** The field of the request that the refusal names. */
  param?: string | null
}

const OVERFLOW_KINDS = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error',
  'model_max_prompt_tokens_exceeded',
  'request_too_large',
  'string_above_max_length',
])

const CONVERSATION =
  '\\b(context|prompt|inputs?|messages?|conversation|history|request|payload|total tokens|token count)\\b'
const EXCEEDS =
  '(exceed|surpass|over the (limit|maximum)|(longer|larger|greater|more) than|' +
  'must be (<|≤|less|smaller|at most|shorter)|should be \\[)'
const OVERFLOW_WORDS: readonly RegExp[] = [
  /context[ _-]?(length|window|size|limit)|maximum (context|prompt|input|model) length|ContextWindowExceeded/i,
  RegExp(`${CONVERSATION}[^.]{0,60}\\btoo (long|large|big)`, 'i'),
  RegExp(
    `${CONVERSATION}[^.]{0,80}${EXCEEDS}[^]{0,80}(\\d|length|size|tokens?|limit|max|context|window)`,
    'i',
  ),
  /too many (input |prompt |total )?tokens|token limit exceeded|exceeds? the (model's )?(max|context)/i,
  /reduce the length of the (messages|prompt|input)/i,
]

/** vLLM subtracts the prompt from the window to find the room for the answer. */
const NO_ROOM = /max_tokens must be at least 1, got -\d/i

/** Limits of the answer's own length have nothing to do with the conversation. */
const OUTPUT_LIMIT =
  /\bmax_(completion_|output_|new_)?tokens\b['"`]? ?(\([^)]*\) ?)?(is|must|should|cannot|exceeds?|:|>)|(output|completion) tokens/i
const CONVERSATION_WORDS = /\b(inputs?|prompt|context|messages?|conversation)\b/i

/** Other parts of a request that have a maximum. */
const OTHER_PART =
  '\\b(tools?|functions?|schemas?|descriptions?|names?|ids?|enums?|images?|pictures?|audio|videos?|files?|' +
  'documents?|pdfs?|stop sequences?|metadata|media)\\b'
const OTHER_PART_WORDS = RegExp(OTHER_PART, 'i')
const OTHER_PART_TOO_LONG = RegExp(
  `${OTHER_PART}[^.]{0,60}(too (long|large|big|many)|exceed|longer|at most)`,
  'i',
)
const TOKEN_WORDS = /\btokens?\b|\bcontext\b|\bprompt\b/i

/** Fields that hold the text of the conversation, such as `messages[3].content`. */
const CONVERSATION_FIELD =
  /^(messages|inputs?|prompt|contents)(\[\d+\]|\.\d+)?(\.(content|parts|text)(\[\d+\]|\.\d+)?)*$/i
const NAMED_FIELD = /\b(?:invalid|for|field|parameter|argument) ['"`]([\w.[\]]+)['"`]/i
const OUTPUT_FIELD = /^max_(completion_|output_|new_)?tokens$/

/** The field that a refusal names, except the limit of the answer, which is also named for a full window. */
function fieldOf({ param, message }: Refusal): string | undefined {
  const field = param ?? NAMED_FIELD.exec(message)?.[1]
  return field === undefined || OUTPUT_FIELD.test(field) ? undefined : field
}

export function isOverflow(refusal: Refusal): boolean {
  const { kinds, message } = refusal
  const field = fieldOf(refusal)
  if (field !== undefined) {
    if (!CONVERSATION_FIELD.test(field)) return false
    if (/too (long|large|many)/i.test(message)) return true
  }
  if (kinds.some(kind => OVERFLOW_KINDS.has(kind)) || NO_ROOM.test(message)) return true
  const namesConversation = CONVERSATION_WORDS.test(message)
  if (OUTPUT_LIMIT.test(message) && !namesConversation) return false
  if (OTHER_PART_TOO_LONG.test(message) && !namesConversation) return false
  if (OTHER_PART_WORDS.test(message) && !TOKEN_WORDS.test(message)) return false
  return OVERFLOW_WORDS.some(words => words.test(message))
}

/** Waiting does not help: this one request is larger than the limit per minute. */
export const mustShrink = ({ message }: Refusal): boolean =>
  /request too large/i.test(message) && /must be reduced|reduce your message/i.test(message)

const CAUSE_WORDS =
  /\b(roles?|alternate|unsupported|not support(ed)?|unknown (parameter|field|variant|argument|name|type)|unrecognized|unexpected (role|field|keyword|value|type|message)|not (allowed|permitted|found|exist)|does not exist|required|missing|empty|api[ _]key|credits?|quota|balance|billing|polic(y|ies)|safety|moderation|filter(ed)?|inappropriate|temperature|top_p|stream(ing)?|stop|reasoning|thinking|signature|json|deserialize|variant|template|deprecated)\b/i

/** Whether a refusal leaves its cause open. */
export const isUnexplained = (refusal: Refusal): boolean => {
  const field = fieldOf(refusal)
  return (
    (field === undefined || CONVERSATION_FIELD.test(field)) &&
    !OUTPUT_LIMIT.test(refusal.message) &&
    !OTHER_PART_WORDS.test(refusal.message) &&
    !CAUSE_WORDS.test(refusal.message)
  )
}
