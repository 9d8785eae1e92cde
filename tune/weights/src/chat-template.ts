/** A model's chat template, and which part of a rendered conversation the model itself wrote. */
import { TemplateError, compileTemplate, type Template } from '@cairn-tune/templates'
import type {
  Chat,
  ChatMessage,
  ChatTemplates,
  MarkedText,
  RenderMarked,
  RenderOptions,
  Span,
} from './chat.ts'
import { findAnswers } from './chat-turns.ts'
import { InputError } from './errors.ts'

/**
 * A rendered conversation in pieces, of which those of the assistant are trained on. Joined they are the
 * whole text.
 */
export type ChatPiece = { text: string; isAssistant: boolean }

export type ChatTemplate = {
  render: (chat: Chat, options?: RenderOptions) => string
  /** Throws an InputError if it is not known where an answer starts or ends. */
  pieces: (chat: Chat) => ChatPiece[]
}

/**
 * Compiles a template, or several by name. `globals` are the tokenizer's special tokens, to which templates
 * refer.
 */
export function compileChatTemplate(
  source: string | ChatTemplates,
  globals: Record<string, unknown>,
): ChatTemplate {
  const templates = Object.entries(typeof source === 'string' ? { default: source } : source).map(
    ([name, text]): [string, Template] => [name, compile(name, text)],
  )
  const choose = chooser(new Map(templates))
  const render: RenderMarked = (chat, options = {}) => renderWith(choose(chat), globals, chat, options)
  return {
    render: (chat, options) => render(chat, options).text,
    pieces: chat => {
      const { text, spans } = findAnswers(render, chat, globals['eos_token'])
      return split(text, spans)
    },
  }
}

function compile(name: string, text: string): Template {
  try {
    return compileTemplate(text)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const which = name === 'default' ? 'chat template' : `chat template ${JSON.stringify(name)}`
    throw new InputError(`invalid ${which}: ${error.text}`, { cause: error })
  }
}

/** Like transformers: `tool_use` for a conversation with tools, if there is one, otherwise `default`. */
function chooser(templates: ReadonlyMap<string, Template>): (chat: Chat) => Template {
  return ({ tools }) => {
    const forTools = tools === undefined ? undefined : templates.get('tool_use')
    const template = forTools ?? templates.get('default')
    if (!template)
      throw new InputError(
        `the model has no default chat template, only ${[...templates.keys()].join(', ')}; ` +
          'choose one with a file chat_template.jinja',
      )
    return template
  }
}

/** Names under which data sets and templates have a thought. */
const THOUGHTS = ['reasoning_content', 'thinking', 'reasoning']

/**
 * Messages as transformers hands them to a template: without keys whose value is null, and with a thought
 * under the names that templates read.
 */
const prepare = (message: ChatMessage): ChatMessage => {
  const kept = Object.fromEntries(
    Object.entries(message).filter(([, value]) => value !== null && value !== undefined),
  ) as ChatMessage
  const key = THOUGHTS.find(name => kept[name] !== undefined)
  return key === undefined ? kept : { thinking: kept[key], ...kept, reasoning_content: kept[key] }
}

function renderWith(
  template: Template,
  globals: Record<string, unknown>,
  chat: Chat,
  { addGenerationPrompt = false, continueFinalMessage = false, variables = {} }: RenderOptions,
): MarkedText {
  const messages = (continueFinalMessage ? tagLast(chat.messages) : chat.messages).map(prepare)
  try {
    const { text, marks } = template.render({
      ...globals,
      documents: null,
      add_generation_prompt: addGenerationPrompt,
      messages,
      tools: chat.tools ?? null,
      ...variables,
    })
    return continueFinalMessage ? { text: cutAtTag(text, chat.messages), marks } : { text, marks }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new InputError(`the chat template rejects the conversation: ${error.shown}`, { cause: error })
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

function split(text: string, spans: readonly Span[]): ChatPiece[] {
  const pieces: ChatPiece[] = []
  let position = 0
  for (const [start, end] of spans) {
    pieces.push({ text: text.slice(position, start), isAssistant: false })
    pieces.push({ text: text.slice(start, end), isAssistant: true })
    position = end
  }
  pieces.push({ text: text.slice(position), isAssistant: false })
  return pieces.filter(piece => piece.text !== '')
}
