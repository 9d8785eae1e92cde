/** The searchable texts of a log: messages, answers, tool calls with their results, titles. Pure. */
import type { EventType, SearchedText } from '@cairn/protocol'

type Data = Readonly<Record<string, unknown>>

/** Characters of a text that are indexed. */
const MAX_TEXT = 32_768
/** Strings within a tool's arguments that are indexed. */
const MAX_STRINGS = 500

const textOf = (value: unknown): string[] => (typeof value === 'string' ? [value] : [])

/** Every string within a value, at any depth. */
function stringsIn(value: unknown, into: string[] = []): string[] {
  if (into.length >= MAX_STRINGS) return into
  if (typeof value === 'string') into.push(value)
  else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) stringsIn(inner, into)
  return into
}

const content = ({ content }: Data): string[] => textOf(content)

const TEXTS: { [T in EventType]?: { in: SearchedText; texts: (data: Data) => string[] } } = {
  'user.message': { in: 'message', texts: content },
  'ask_user_question.response': { in: 'message', texts: ({ responses }) => stringsIn(responses) },
  'user.define_outcome': { in: 'message', texts: ({ description }) => textOf(description) },
  'llm.response': { in: 'answer', texts: ({ message }) => content((message ?? {}) as Data) },
  'tool.call': { in: 'tool', texts: ({ name, arguments: given }) => [...textOf(name), ...stringsIn(given)] },
  'tool.result': { in: 'tool', texts: content },
  'artifact.created': { in: 'tool', texts: ({ name }) => textOf(name) },
  'session.title_updated': { in: 'title', texts: ({ title }) => textOf(title) },
}

export const SEARCHED_TYPES = Object.keys(TEXTS) as EventType[]

/** Null if the event has no searchable text. */
export function searchedText(type: EventType, data: Data): { in: SearchedText; text: string } | null {
  const row = TEXTS[type]
  const text = row?.texts(data).join('\n').slice(0, MAX_TEXT) ?? ''
  return row === undefined || text.trim() === '' ? null : { in: row.in, text }
}
