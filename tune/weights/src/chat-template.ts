/**
 * A model's chat template, and which part of a rendered conversation the model itself wrote.
 *
 * A template's own `{% generation %}` marks are used if present. For other templates each turn is found by
 * rendering the conversation up to it: the turn starts after that text and the header that the template
 * writes to start an answer, and ends where the next message starts. Every step is checked against the
 * rendering of the whole conversation, so a template that behaves differently is rejected instead of guessed
 * at.
 */
import { Template } from '@huggingface/jinja'
import { InputError } from './errors.ts'
import { PYTHON_FUNCTIONS, markNumbers, pythonStrips, writeNumbers } from './python-templates.ts'

export type ChatMessage = { role: string; content?: unknown; [key: string]: unknown }
export type Chat = {
  messages: readonly ChatMessage[]
  tools?: readonly unknown[] | undefined
  /** Indices of assistant messages that are shown and not trained on. */
  untrained?: readonly number[] | undefined
}
export type RenderOptions = {
  addGenerationPrompt?: boolean
  /** Leaves the last message open, so that the answer continues it. */
  continueFinalMessage?: boolean
  variables?: Record<string, unknown>
}

/**
 * A rendered conversation in pieces, of which those of the assistant are trained on. Joined they are the
 * whole text.
 */
export type ChatPiece = { text: string; isAssistant: boolean }

export type ChatTemplate = {
  render: (chat: Chat, options?: RenderOptions) => string
  pieces: (chat: Chat) => ChatPiece[]
}

/** Unicode noncharacters, which no text contains. */
const OPEN = '\u{fdd0}'
const CLOSE = '\u{fdd1}'
const GENERATION = /\{%(?<left>[-+]?)\s*(?<end>end)?generation\s*(?<right>[-+]?)%\}/g

/** Compiles a template. `globals` are the tokenizer's special tokens, to which templates refer. */
export function compileChatTemplate(source: string, globals: Record<string, unknown>): ChatTemplate {
  const isMarked = source.search(GENERATION) >= 0
  const compile = (open: string, close: string) => {
    const text = source.replaceAll(
      GENERATION,
      (_, left: string, end: string | undefined, right: string) =>
        `{{${left === '-' ? '-' : ''} '${end === undefined ? open : close}' ${right === '-' ? '-' : ''}}}`,
    )
    try {
      const template = new Template(text)
      pythonStrips(template.parsed)
      return template
    } catch (error) {
      throw new InputError(`invalid chat template: ${messageOf(error)}`, { cause: error })
    }
  }
  const plain = compile('', '')
  const marked = isMarked ? compile(OPEN, CLOSE) : undefined

  const renderWith = (
    template: Template,
    chat: Chat,
    { addGenerationPrompt = false, continueFinalMessage = false, variables = {} }: RenderOptions,
  ) => {
    const messages = continueFinalMessage ? tagLast(chat.messages) : chat.messages
    const marked = markNumbers({ messages, tools: chat.tools ?? null, ...variables }) as object
    try {
      const text = writeNumbers(
        template.render({
          ...globals,
          documents: null,
          add_generation_prompt: addGenerationPrompt,
          ...PYTHON_FUNCTIONS,
          ...marked,
        }),
      )
      return continueFinalMessage ? cutAtTag(text, chat.messages) : text
    } catch (error) {
      if (error instanceof InputError) throw error
      throw new InputError(`the chat template rejects the conversation: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }
  const render = (chat: Chat, options: RenderOptions = {}) => renderWith(plain, chat, options)
  return {
    render,
    pieces: chat => (marked ? splitMarked(renderWith(marked, chat, {}), chat) : splitTurns(render, chat)),
  }
}

const TAG = 'CONTINUE_FINAL_MESSAGE_TAG '

const lastText = (messages: readonly ChatMessage[]): string => {
  const text = messages.at(-1)?.content
  if (typeof text === 'string') return text
  throw new InputError('continue_final_message needs a last message with content to continue')
}

const tagLast = (messages: readonly ChatMessage[]): ChatMessage[] =>
  messages.map((message, i) =>
    i === messages.length - 1 ? { ...message, content: lastText(messages) + TAG } : message,
  )

/** Cuts before the tag like transformers, without the white space that the template trims there. */
function cutAtTag(text: string, messages: readonly ChatMessage[]): string {
  const at = text.lastIndexOf(TAG.trim())
  if (at < 0 || !text.includes(lastText(messages).trim()))
    throw new InputError(
      'continue_final_message: the chat template changes or omits the last message, so it cannot be ' +
        'continued',
    )
  return text.startsWith(TAG, at) ? text.slice(0, at) : text.slice(0, at).trimEnd()
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

function splitMarked(text: string, chat: Chat): ChatPiece[] {
  if (JSON.stringify(chat.messages).match(/[\u{fdd0}\u{fdd1}]/u))
    throw new InputError('a message contains U+FDD0 or U+FDD1, which are not characters')
  const pieces = text.split(/(?=\u{fdd0})|(?<=\u{fdd1})/u).map(piece => ({
    text: piece.replaceAll(/[\u{fdd0}\u{fdd1}]/gu, ''),
    isAssistant: piece.startsWith(OPEN),
  }))
  const turns = chat.messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []))
  const untrained = new Set(chat.untrained)
  const written = pieces.filter(({ isAssistant }) => isAssistant)
  if (turns.some(i => untrained.has(i))) {
    if (written.length !== turns.length)
      throw new InputError(
        `the chat template marks ${written.length} texts for ${turns.length} assistant messages, so ` +
          'a single message cannot be excluded from training',
      )
    for (const [i, piece] of written.entries()) piece.isAssistant = !untrained.has(turns[i] ?? -1)
  }
  return pieces.filter(piece => piece.text !== '')
}

function splitTurns(render: ChatTemplate['render'], { messages, tools, untrained = [] }: Chat): ChatPiece[] {
  const upTo = (...some: readonly ChatMessage[]) =>
    some.length === 0 ? '' : render({ messages: some, tools })
  const text = upTo(...messages)
  const pieces: ChatPiece[] = []
  let position = 0
  messages.forEach((message, i) => {
    if (message.role !== 'assistant') return
    const refuse = (): never => {
      throw new InputError(
        `cannot find where message ${i + 1} of ${messages.length} starts or ends in the output of ` +
          'the chat template; use train_on: all, or a template with {% generation %}',
      )
    }
    const before = messages.slice(0, i)
    const history = upTo(...before)
    if (!text.startsWith(history)) refuse()
    const start = headerEnd(render, { messages: before, tools }, history, text)
    if (start === undefined || start < position) return refuse()
    const end = turnEnd(upTo, messages, i, history, text)
    if (end === undefined || end < start) return refuse()
    pieces.push(
      { text: text.slice(position, start), isAssistant: false },
      { text: text.slice(start, end), isAssistant: !untrained.includes(i) },
    )
    position = end
  })
  pieces.push({ text: text.slice(position), isAssistant: false })
  return pieces.filter(piece => piece.text !== '')
}

/**
 * The longer of the matching headers: one may contain an empty thought, which belongs to the prompt and not
 * to the model's output.
 */
function headerEnd(
  render: ChatTemplate['render'],
  before: Chat,
  history: string,
  text: string,
): number | undefined {
  if (before.messages.length === 0) return undefined
  const prompts = [{ enable_thinking: false }, {}].map(variables =>
    render(before, { addGenerationPrompt: true, variables }),
  )
  const fitting = prompts.filter(prompt => prompt.length > history.length && text.startsWith(prompt))
  return fitting.length === 0 ? undefined : Math.max(...fitting.map(prompt => prompt.length))
}

/**
 * A template may write a turn differently when it is the last one. Then the next message, rendered without
 * it, shows where it ends.
 */
function turnEnd(
  upTo: (...some: readonly ChatMessage[]) => string,
  messages: readonly ChatMessage[],
  i: number,
  history: string,
  text: string,
): number | undefined {
  const next = messages[i + 1]
  if (!next) return text.length
  const whole = upTo(...messages.slice(0, i + 1))
  if (text.startsWith(whole)) return whole.length
  const after = upTo(...messages.slice(0, i + 2))
  const alone = upTo(...messages.slice(0, i), next)
  if (!text.startsWith(after) || !alone.startsWith(history)) return undefined
  const nextText = alone.slice(history.length)
  return after.endsWith(nextText) ? after.length - nextText.length : undefined
}
