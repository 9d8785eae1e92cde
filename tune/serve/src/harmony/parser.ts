/**
 * Parses an answer in the harmony format as it is generated: messages, each with a header (role, channel,
 * receiver) up to <|message|> and a body up to <|end|> or the next <|start|>.
 *
 *   analysis channel                      thoughts
 *   a receiver `functions.NAME`           a call of that tool; the body is its arguments
 *   commentary and final channel          the answer; a comment before a call is written for the reader
 *
 * Text without any message is returned unchanged, so nothing that the model wrote is lost.
 */
import type { ChatEvent, ChatParser } from '../chat-parser.ts'
import { MARKERS } from './markers.ts'

const START = MARKERS['<|start|>']
const MESSAGE = MARKERS['<|message|>']
const CHANNEL = MARKERS['<|channel|>']
const ANY = new RegExp(`[${Object.values(MARKERS).join('')}]`, 'gu')
/** Markers that end a body. */
const BODY_END = new RegExp(`[${Object.values(MARKERS).join('')}]`, 'u')
const FUNCTIONS = 'functions.'

type Kind = 'reasoning' | 'content' | 'arguments'

export type HarmonyOptions = {
  hasTools: boolean
  /**
   * The part of the answer's first message that the prompt contains after `<|start|>assistant`, with markers.
   */
  opened: string
}

/** Channel and receiver of a header, such as `assistant to=functions.find<|channel|>commentary json`. */
function readHeader(header: string): { channel: string | undefined; receiver: string | undefined } {
  const [, channel] =
    new RegExp(`${CHANNEL}([^\\s${Object.values(MARKERS).join('')}]*)`, 'u').exec(header) ?? []
  const words = header.replaceAll(ANY, ' ').split(/\s+/)
  return { channel, receiver: words.find(word => word.startsWith('to='))?.slice('to='.length) }
}

export function createHarmonyParser({ hasTools, opened }: HarmonyOptions): ChatParser {
  let state: 'header' | 'between' | Kind = 'header'
  let buffer = ''
  let calls = 0
  let hasMessage = false
  const written = { reasoning: false, content: false }

  const take = (length: number) => {
    const text = buffer.slice(0, length)
    buffer = buffer.slice(length)
    return text
  }

  /** Starts a message. A new line separates messages of one kind. */
  function begin(header: string, events: ChatEvent[]): Kind {
    hasMessage = true
    const { channel, receiver } = readHeader(header)
    if (hasTools && receiver?.startsWith(FUNCTIONS)) {
      events.push({ kind: 'call', index: calls, name: receiver.slice(FUNCTIONS.length) })
      return 'arguments'
    }
    const kind = channel === 'analysis' ? 'reasoning' : 'content'
    if (written[kind]) events.push({ kind, text: '\n' })
    return kind
  }

  function emit(kind: Kind, text: string, events: ChatEvent[]): void {
    if (text === '') return
    if (kind === 'arguments') events.push({ kind, index: calls, text })
    else {
      written[kind] = true
      events.push({ kind, text })
    }
  }

  /** One parsing step. False if it needs more text. */
  function move(events: ChatEvent[]): boolean {
    switch (state) {
      case 'between': {
        const start = buffer.indexOf(START)
        if (start < 0) return false
        take(start + START.length)
        state = 'header'
        return true
      }
      case 'header': {
        const end = buffer.indexOf(MESSAGE)
        if (end < 0) return false
        const header = take(end)
        take(MESSAGE.length)
        state = begin(header, events)
        return true
      }
      default: {
        const end = buffer.search(BODY_END)
        emit(state, take(end < 0 ? buffer.length : end), events)
        if (end < 0) return false
        if (state === 'arguments') calls++
        // A body that ends at <|start|> lacks its end; the next message starts there.
        if (!buffer.startsWith(START)) take(1)
        state = 'between'
        return true
      }
    }
  }

  function push(text: string): ChatEvent[] {
    buffer += text
    const events: ChatEvent[] = []
    let hasMoved = true
    while (hasMoved) hasMoved = move(events)
    return events
  }

  push(opened)
  return {
    push,
    flush() {
      const events: ChatEvent[] = []
      if (!hasMessage) emit('content', buffer.replaceAll(ANY, ''), events)
      buffer = ''
      return events
    },
  }
}
