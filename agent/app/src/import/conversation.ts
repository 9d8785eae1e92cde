/**
 * The common form of recorded conversations, and the order of their messages. Model servers require that the
 * results of an answer's calls follow it directly, so what a transcript has in between is moved behind them:
 * text of the person, and later pieces of the same answer. Nothing is dropped.
 */
import type { ImportedMessage, ToolCallRef } from '@cairn/protocol'

type Answer = Extract<ImportedMessage, { role: 'assistant' }>

/** The result of a call that has none in the transcript. Model servers reject a call without a result. */
export const NO_RESULT = '{"error":"The transcript has no result of this call."}'

/** What is known of a conversation besides its messages. */
export type Source = {
  id: string
  title?: string
  system?: string
  tool_version?: string
  /** The conversation that started this one as a subagent. */
  parent?: string
}

export type Recorded = {
  source: Source
  /** A person's message, or text that a program put in its place. */
  user(text: string): void
  /** A piece of an answer. Pieces with the same key belong to one answer. */
  answer(key: string, piece: { text?: string; calls?: readonly ToolCallRef[] }): void
  result(callId: string, text: string): void
  /** Takes the messages that no later record can change. */
  take(): ImportedMessage[][]
  /** Takes the rest. */
  end(): ImportedMessage[][]
}

/** Reads the records of one file, in their order. */
export type Reader = { record(value: unknown): void; conversations(): Iterable<Recorded> }

export const callOf = (id: string, name: string, args: unknown): ToolCallRef => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
})

export function createRecorded(source: Source, note: (what: string) => void): Recorded {
  /** Groups of messages that belong together: an answer and its results, or one message. */
  let settled: ImportedMessage[][] = []
  let key = ''
  let answer: Answer | null = null
  let results: ImportedMessage[] = []
  let later: ImportedMessage[] = []
  const open = new Set<string>()
  const known = new Set<string>()

  function settle(): void {
    if (answer !== null) {
      for (const tool_call_id of open) {
        note('call without a result')
        results.push({ role: 'tool', tool_call_id, content: NO_RESULT })
      }
      // An answer without text and calls has nothing to read, and model servers reject it.
      if (answer.content !== '' || answer.tool_calls !== undefined) settled.push([answer, ...results])
    }
    for (const message of later) settled.push([message])
    answer = null
    results = []
    later = []
    open.clear()
  }

  function add(message: ImportedMessage): void {
    if (open.size > 0) later.push(message)
    else {
      settle()
      settled.push([message])
    }
  }

  return {
    source,
    user: text => {
      if (text.trim() !== '') add({ role: 'user', content: text })
    },
    answer: (given, { text = '', calls = [] }) => {
      const fresh = calls.filter(({ id }) => !known.has(id))
      if (fresh.length < calls.length) note('repeated call')
      if (answer === null || given !== key || (open.size === 0 && results.length > 0)) {
        settle()
        answer = { role: 'assistant', content: '' }
        key = given
      }
      if (text !== '') answer.content += answer.content === '' ? text : `\n\n${text}`
      if (fresh.length > 0) answer.tool_calls = [...(answer.tool_calls ?? []), ...fresh]
      for (const { id } of fresh) {
        open.add(id)
        known.add(id)
      }
    },
    result: (tool_call_id, content) => {
      if (open.delete(tool_call_id)) {
        results.push({ role: 'tool', tool_call_id, content })
        if (open.size === 0 && later.length > 0) settle()
        return
      }
      note(known.has(tool_call_id) ? 'late result' : 'result of an unknown call')
      add({ role: 'user', content: `[Result of call ${tool_call_id}]\n${content}` })
    },
    take: () => {
      const taken = settled
      settled = []
      return taken
    },
    end: () => {
      settle()
      const taken = settled
      settled = []
      return taken
    },
  }
}
