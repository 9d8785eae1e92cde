/**
 * Splits a chat model's output as it is generated: reasoning between think tags, tool calls between tool_call
 * tags, and the rest, which is the answer. A call is `{"name": …, "arguments": {…}}`; its arguments are
 * passed on character by character once the name is known. Text that only resembles a call is returned as
 * text, so nothing the model wrote is lost; only a forced call that was cut off before its name is dropped,
 * as in vLLM.
 */
import { z } from 'zod'

export type ChatEvent =
  | { kind: 'reasoning' | 'content'; text: string }
  | { kind: 'call'; index: number; name: string }
  | { kind: 'arguments'; index: number; text: string }

export type ChatParser = { push(text: string): ChatEvent[]; flush(): ChatEvent[] }

export type ChatParserOptions = {
  startsInReasoning: boolean
  hasTools: boolean
  /** Whether the answer continues a text, so that its white space belongs to the answer. */
  isContinued?: boolean
  /**
   * Whether the request forces a call. The start of a call that was cut off is then no text of the answer.
   */
  isForced?: boolean
}

const TAGS = { think: '<think>', thinkEnd: '</think>', call: '<tool_call>', callEnd: '</tool_call>' } as const
const HEADER = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/
const wholeCall = z.object({
  name: z.string(),
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
})

/** Length of the longest suffix of `text` that may be the start of `tag`. */
function pending(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--)
    if (tag.startsWith(text.slice(-length))) return length
  return 0
}

/** Follows a JSON object to its closing brace. */
function createObjectEnd(): (char: string) => boolean {
  let depth = 0
  let isText = false
  let isEscaped = false
  return char => {
    if (isText) {
      if (isEscaped) isEscaped = false
      else if (char === '\\') isEscaped = true
      else if (char === '"') isText = false
      return false
    }
    if (char === '"') isText = true
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    return depth === 0
  }
}

type State = 'reasoning' | 'content' | 'call' | 'arguments' | 'after call'

export function createChatParser({
  startsInReasoning,
  hasTools,
  isContinued = false,
  isForced = false,
}: ChatParserOptions): ChatParser {
  let state: State = startsInReasoning ? 'reasoning' : 'content'
  let buffer = ''
  let calls = 0
  let hasContent = isContinued && !startsInReasoning
  let hasThought = startsInReasoning
  let hasThoughtText = false
  // White space before a call. It becomes text again if the call turns out not to be one.
  let space = ''
  let isObjectEnd = createObjectEnd()

  const take = (length: number) => {
    const text = buffer.slice(0, length)
    buffer = buffer.slice(length)
    return text
  }

  /** Takes text up to the next possible tag, and the tag if it is complete. */
  function until(tags: readonly string[]): { text: string; tag: string | undefined } {
    const found = tags
      .map(tag => ({ tag, index: buffer.indexOf(tag) }))
      .filter(({ index }) => index >= 0)
      .toSorted((a, b) => a.index - b.index)[0]
    if (found) {
      const text = take(found.index)
      take(found.tag.length)
      return { text, tag: found.tag }
    }
    const keep = Math.max(0, ...tags.map(tag => pending(buffer, tag)))
    return { text: take(buffer.length - keep), tag: undefined }
  }

  function emitContent(text: string, events: ChatEvent[]): void {
    if (text === '') return
    hasContent ||= text.trim() !== ''
    events.push({ kind: 'content', text })
  }

  /** One parsing step. False if it needs more text. */
  function move(events: ChatEvent[]): boolean {
    switch (state) {
      case 'reasoning': {
        if (!hasThoughtText) buffer = buffer.trimStart()
        const { text, tag } = until([TAGS.thinkEnd])
        hasThoughtText ||= text !== ''
        if (text !== '') events.push({ kind: 'reasoning', text })
        if (tag === undefined) return false
        state = 'content'
        return true
      }
      case 'content': {
        // White space waits: before a call or a thought it does not belong to the answer. Newlines after a
        // thought come from the template, and white space between calls is dropped.
        if (!hasContent && calls > 0) buffer = buffer.trimStart()
        else if (!hasContent && hasThought) buffer = buffer.replace(/^\n+/, '')
        const tags = [...(hasContent || hasThought ? [] : [TAGS.think]), ...(hasTools ? [TAGS.call] : [])]
        const { text, tag } = until(tags)
        const end = text.trimEnd()
        emitContent(end, events)
        if (tag === TAGS.think) {
          state = 'reasoning'
          hasThought = true
        } else if (tag === TAGS.call) {
          state = 'call'
          space = text.slice(end.length)
        } else {
          buffer = text.slice(end.length) + buffer
          return false
        }
        return true
      }
      case 'call': {
        const header = HEADER.exec(buffer)
        if (header?.[1]) {
          take(header[0].length)
          events.push({ kind: 'call', index: calls, name: String(JSON.parse(header[1])) })
          isObjectEnd = createObjectEnd()
          state = 'arguments'
          return true
        }
        const end = buffer.indexOf(TAGS.callEnd)
        if (end < 0) return false
        const body = take(end)
        take(TAGS.callEnd.length)
        state = 'content'
        readWhole(body, TAGS.callEnd, events)
        return true
      }
      case 'arguments': {
        let length = 0
        let isWhole = false
        while (length < buffer.length && !isWhole) isWhole = isObjectEnd(buffer[length++] ?? '')
        const text = take(length)
        if (text !== '') events.push({ kind: 'arguments', index: calls, text })
        if (!isWhole) return false
        calls++
        state = 'after call'
        return true
      }
      case 'after call': {
        const { tag } = until([TAGS.callEnd])
        if (tag === undefined) return false
        state = 'content'
        return true
      }
    }
  }

  /** Reads a call whose keys come in another order, or text that is not a call. */
  function readWhole(body: string, end: string, events: ChatEvent[]): void {
    const call = wholeCall.safeParse(parseJson(body))
    if (!call.success) return emitContent(`${space}${TAGS.call}${body}${end}`, events)
    const values = call.data.arguments ?? call.data.parameters ?? {}
    events.push(
      { kind: 'call', index: calls, name: call.data.name },
      { kind: 'arguments', index: calls, text: typeof values === 'string' ? values : JSON.stringify(values) },
    )
    calls++
  }

  return {
    push(text) {
      buffer += text
      const events: ChatEvent[] = []
      let hasMoved = true
      while (hasMoved) hasMoved = move(events)
      return events
    },
    flush() {
      const events: ChatEvent[] = []
      if (state === 'reasoning' && buffer !== '') events.push({ kind: 'reasoning', text: buffer })
      else if (isForced) buffer = ''
      else if (state === 'content') emitContent(calls > 0 && !hasContent ? buffer.trim() : buffer, events)
      else if (state === 'call') readWhole(buffer, '', events)
      buffer = ''
      return events
    },
  }
}

/** A parser that leaves out every call after the first, for `parallel_tool_calls: false`. */
export function withFirstCall({ push, flush }: ChatParser): ChatParser {
  const isKept = (event: ChatEvent) =>
    (event.kind !== 'call' && event.kind !== 'arguments') || event.index === 0
  return { push: text => push(text).filter(isKept), flush: () => flush().filter(isKept) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Text that is not JSON is not a call, and is returned as text.
    return undefined
  }
}
