/**
 * Finds the answers of the assistant in a rendered conversation.
 *
 * A template's own `{% generation %}` marks are used if it has some. For other templates, a placeholder
 * takes the place of an answer. What the template writes between the prompt for an answer and the
 * placeholder belongs to the answer, and so does what it writes behind the placeholder if the
 * conversation ends there, up to where a longer one continues. The text of the whole conversation has to
 * agree with that of the placeholder's in front of the answer and behind it, whatever the template does
 * with earlier turns. Else the template is refused, never guessed at.
 */
import type { Chat, ChatMessage, MarkedText, RenderMarked, Span } from './chat.ts'
import { InputError } from './errors.ts'

/** Stands for an answer. Plain letters, which templates and JSON leave as they are. */
const PLACEHOLDER = 'Zq7AnswerQ7z'
/** Stands for the end token. */
const END = '\u{e0c2}'

export function findAnswers(
  render: RenderMarked,
  chat: Chat,
  endToken: unknown,
): { text: string; spans: readonly Span[] } {
  const { text, marks } = render(chat)
  const untrained = new Set(chat.untrained)
  const trained = chat.messages.flatMap(({ role }, i) =>
    role === 'assistant' && !untrained.has(i) ? [i] : [],
  )
  if (marks && marks.length > 0) {
    const isAnyShown = chat.messages.some(({ role }, i) => role === 'assistant' && untrained.has(i))
    return { text, spans: isAnyShown ? marksOf(render, chat, marks, trained) : marks }
  }
  if (trained.length === 0) return { text, spans: [] }
  const finder = new TurnFinder(render, chat, text, typeof endToken === 'string' ? endToken : undefined)
  const spans = trained.map(i => finder.find(i))
  spans.forEach(([start], i) => {
    if (start < (spans[i - 1]?.[1] ?? 0)) throw finder.refusal(trained[i] ?? 0)
  })
  return { text, spans }
}

/**
 * The marks of some messages. A message has those by which a conversation that ends with it has more than
 * the one before.
 */
function marksOf(
  render: RenderMarked,
  { messages, tools }: Chat,
  marks: readonly Span[],
  trained: readonly number[],
): Span[] {
  const countUpTo = (end: number): number => {
    if (end === messages.length) return marks.length
    const part = messages.slice(0, end)
    if (!part.some(({ role }) => role === 'assistant')) return 0
    const found = attempt(() => render({ messages: part, tools }))?.marks
    if (!found)
      throw new InputError(
        `the chat template does not show which {% generation %} part belongs to message ${end}, so ` +
          'a single message cannot be excluded from training',
      )
    return found.length
  }
  return trained.flatMap(i => marks.slice(countUpTo(i), countUpTo(i + 1)))
}

/** A rendering, or undefined if the template rejects the conversation. */
function attempt(run: () => MarkedText): MarkedText | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof InputError) return undefined
    throw error
  }
}

/** Length of the common start, which does not split a character. */
function commonLength(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  let at = 0
  while (at < length && left[at] === right[at]) at++
  const code = at > 0 ? left.charCodeAt(at - 1) : 0
  return code >= 0xd800 && code < 0xdc00 ? at - 1 : at
}

/** Where a prompt ends in front of a placeholder: what follows it there, and what the prompt has beyond. */
type Start = { lead: string; rest: string }
/** What a template writes around an answer. */
type Frame = {
  prompts: readonly string[]
  starts: readonly Start[]
  /** Behind the content, at the end of a conversation and in front of another message. */
  trails: readonly string[]
  /** At the end, with a placeholder for the end token. */
  trailWithEnd: string | undefined
}

/**
 * Answers with a placeholder: as content, and as the name of a called function, because templates may
 * reject results of tools without a call in front of them, or write no content beside a call.
 */
function placeholders(message: ChatMessage | undefined): ChatMessage[] {
  const calls: unknown = message?.['tool_calls']
  const [first, ...rest] = Array.isArray(calls) ? (calls as unknown[]) : []
  const { function: called } = (first ?? {}) as { function?: object }
  return [
    { role: 'assistant', content: PLACEHOLDER },
    ...(message && called
      ? [
          {
            ...message,
            tool_calls: [{ ...(first as object), function: { ...called, name: PLACEHOLDER } }, ...rest],
          },
        ]
      : []),
  ]
}

/** Special tokens such as `<|START_TEXT|>`, with white space. */
const ONLY_TOKENS = /^\s*(?:<[^<>\s]+>\s*)*$/
/** Shorter texts that two renderings have in common say nothing. */
const MIN_COMMON = 8

/**
 * Where a prompt ends in a text whose placeholder is at `at`. Behind their common beginning, the prompt
 * may open a thought or another part with a special token. Their headers may not differ otherwise.
 */
function startIn(text: string, at: number, prompt: string, asked: unknown): Start[] {
  const common = tokenBorder(text, Math.min(commonLength(prompt, text), at))
  const lead = text.slice(common, at)
  if (common === prompt.length || ONLY_TOKENS.test(lead)) return [{ lead, rest: prompt.slice(common) }]
  // The template writes earlier messages differently once there is an answer. The last message is the same.
  const content = typeof asked === 'string' ? asked.trim() : ''
  const tail = prompt.slice(Math.max(content === '' ? 0 : prompt.lastIndexOf(content), 0))
  const end = text.lastIndexOf(tail, at)
  if (tail.length < MIN_COMMON || end < 0 || end + tail.length > at) return []
  const rest = text.slice(end + tail.length, at)
  return ONLY_TOKENS.test(rest) ? [{ lead: rest, rest: '' }] : []
}

/** The position, or the start of the special token around it. */
function tokenBorder(text: string, at: number): number {
  const open = text.lastIndexOf('<', at - 1)
  return open >= 0 && /^<[^<>\s]*$/.test(text.slice(open, at)) ? open : at
}

class TurnFinder {
  readonly #render: RenderMarked
  readonly #chat: Chat
  readonly #text: string
  readonly #endToken: string | undefined

  constructor(render: RenderMarked, chat: Chat, text: string, endToken: string | undefined) {
    this.#render = render
    this.#chat = chat
    this.#text = text
    this.#endToken = endToken === '' ? undefined : endToken
  }

  refusal(i: number): InputError {
    return new InputError(
      `cannot find where message ${i + 1} of ${this.#chat.messages.length} starts or ends in the output of ` +
        'the chat template; use a template with {% generation %} (--chat-template, or chat_template.jinja ' +
        'in the model), or train_on: all',
    )
  }

  /** Where the answer in message `i` is in the whole text. */
  find(i: number): Span {
    for (const answer of placeholders(this.#chat.messages[i])) {
      const frame = this.#frame(i, answer)
      const found = frame && this.#byPlaceholder(i, answer, frame)
      if (found) return found
    }
    const found = this.#byBeginnings(i)
    if (!found) throw this.refusal(i)
    return found
  }

  #rendered(
    messages: readonly ChatMessage[],
    options: { addGenerationPrompt?: boolean; variables?: Record<string, unknown> } = {},
  ): string | undefined {
    return attempt(() => this.#render({ messages, tools: this.#chat.tools }, options))?.text
  }

  /**
   * Prompts for an answer. A template that takes `enable_thinking` may write an empty thought into it,
   * which belongs to the prompt and not to what the model writes.
   */
  #prompts(before: readonly ChatMessage[]): string[] {
    return [{ enable_thinking: false }, {}].flatMap(
      variables => this.#rendered(before, { addGenerationPrompt: true, variables }) ?? [],
    )
  }

  #frame(i: number, answer: ChatMessage): Frame | undefined {
    const { messages } = this.#chat
    const before = messages.slice(0, i)
    const answered = [...before, answer]
    const text = this.#rendered(answered)
    const at = text?.indexOf(PLACEHOLDER) ?? -1
    if (text === undefined || at < 0) return undefined
    const prompts = this.#prompts(before)
    const asked = before.at(-1)?.content
    const trail = text.slice(at + PLACEHOLDER.length)
    const next = messages[i + 1]
    const trailInside = next && this.#trailInside(before, answered, next)
    const withEnd = this.#endToken && this.#rendered(answered, { variables: { eos_token: END } })
    return {
      prompts,
      starts: prompts.flatMap(prompt => startIn(text, at, prompt, asked)),
      trails: trailInside === undefined ? [trail] : [trail, trailInside],
      trailWithEnd: withEnd ? withEnd.slice(withEnd.indexOf(PLACEHOLDER) + PLACEHOLDER.length) : undefined,
    }
  }

  /**
   * What the template writes between an answer and the next message, which it also renders without the
   * answer.
   */
  #trailInside(
    before: readonly ChatMessage[],
    answered: readonly ChatMessage[],
    next: ChatMessage,
  ): string | undefined {
    const history = this.#rendered(before)
    const alone = this.#rendered([...before, next])
    const text = this.#rendered([...answered, next])
    if (history === undefined || text === undefined || alone?.startsWith(history) !== true) return undefined
    const rest = alone.slice(history.length)
    const from = text.indexOf(PLACEHOLDER) + PLACEHOLDER.length
    return rest !== '' && text.endsWith(rest) && text.length - rest.length >= from
      ? text.slice(from, text.length - rest.length)
      : undefined
  }

  #byPlaceholder(i: number, answer: ChatMessage, frame: Frame): Span | undefined {
    const messages = this.#chat.messages.toSpliced(i, 1, answer)
    const placed = this.#rendered(messages)
    const at = placed?.indexOf(PLACEHOLDER) ?? -1
    if (placed === undefined || at < 0 || placed.includes(PLACEHOLDER, at + 1)) return undefined
    const after = this.#after(i, placed, at + PLACEHOLDER.length, frame, messages)
    if (after === undefined || !this.#text.endsWith(placed.slice(after))) return undefined
    const end = this.#text.length - (placed.length - after)
    const asked = messages[i - 1]?.content
    const own = frame.prompts.flatMap(prompt => startIn(placed, at, prompt, asked))
    const fitting = [...frame.starts, ...own].flatMap(({ lead, rest }) => {
      const start = at - lead.length
      const isLead = placed.slice(start, at) === lead
      if (!isLead || start > end || this.#text.slice(0, start) !== placed.slice(0, start)) return []
      return this.#text.slice(0, end).startsWith(rest, start) ? start + rest.length : start
    })
    return fitting.length === 0 ? undefined : [Math.max(...fitting), end]
  }

  /** Where the answer ends in a text with the placeholder, which ends at `from`. */
  #after(
    i: number,
    placed: string,
    from: number,
    { trails, trailWithEnd }: Frame,
    messages: readonly ChatMessage[],
  ): number | undefined {
    if (i + 1 === messages.length) return placed.length
    const trail = trails.find(one => placed.startsWith(one, from))
    if (trail !== undefined) return from + trail.length
    if (trailWithEnd === undefined || this.#endToken === undefined) return undefined
    // Some templates end every text with the end token. With a placeholder for it, two texts part there.
    const other = this.#rendered(messages, { variables: { eos_token: END } })
    if (other?.replaceAll(END, this.#endToken) !== placed) return undefined
    const rest = other.slice(other.indexOf(PLACEHOLDER) + PLACEHOLDER.length)
    const common = trailWithEnd.slice(0, commonLength(trailWithEnd, rest))
    return trailWithEnd.slice(common.length) === END
      ? from + common.replaceAll(END, this.#endToken).length
      : undefined
  }

  /**
   * For an answer whose content the template does not write: the prompt and the answered conversation are
   * beginnings of the whole text.
   */
  #byBeginnings(i: number): Span | undefined {
    const { messages } = this.#chat
    const prompts = this.#prompts(messages.slice(0, i)).filter(prompt => this.#text.startsWith(prompt))
    const start = Math.max(...prompts.map(prompt => prompt.length), -1)
    const upTo = i + 1 === messages.length ? this.#text : this.#rendered(messages.slice(0, i + 1))
    if (start < 0 || upTo === undefined || !this.#text.startsWith(upTo) || upTo.length < start)
      return undefined
    return [start, upTo.length]
  }
}
