/** What a refused request contained, as the rules of lessons.ts need it. Computed only after a refusal. */
import type { ModelRequest, ToolSchema } from '../provider.ts'
import { toolKey } from '../repair/acceptable-tools.ts'
import type { SentRequest } from '../repair/repair-request.ts'
import { imageKey } from '../repair/texts.ts'
import type { ServerProfile } from './profiles.ts'

export type SentImage = { key: string }
export type SentTool = ToolSchema & { key: string }
/** The content of a message: text, a list of parts, or none. */
export type ContentKind = 'text' | 'parts' | 'none'

export type SentRequestFacts = {
  profile: ServerProfile
  /** The optional fields of the body, by name. */
  fields: Readonly<Record<string, unknown>>
  /** In the order of the body. */
  tools: readonly SentTool[]
  /** Oldest first. */
  images: readonly SentImage[]
  contents: readonly ContentKind[]
  /** Names of additional fields of tool calls and messages. */
  callFields: readonly string[]
  reasoningFields: readonly string[]
}

/** The facts that a refusal shows. */
export type Lesson = Partial<ServerProfile>

export function sentFacts(
  request: ModelRequest,
  sent: SentRequest,
  fields: Readonly<Record<string, unknown>>,
  profile: ServerProfile,
): SentRequestFacts {
  const answers = sent.messages.filter(message => message.role === 'assistant')
  const namesOf = (list: readonly (object | undefined)[]): string[] => [
    ...new Set(list.flatMap(one => Object.keys(one ?? {}))),
  ]
  return {
    profile,
    fields,
    tools: sent.tools.map(tool => {
      const original = request.tools.find(({ name }) => name === tool.name)
      return { ...tool, key: toolKey(original ?? tool) }
    }),
    images: sent.messages
      .flatMap(message => (message.role === 'user' ? (message.images ?? []) : []))
      .map(image => ({ key: imageKey(image) })),
    contents: sent.messages.map(message =>
      message.role === 'user' && message.images !== undefined
        ? 'parts'
        : message.content === ''
          ? 'none'
          : 'text',
    ),
    callFields: namesOf(answers.flatMap(({ tool_calls = [] }) => tool_calls.map(call => call.fields))),
    reasoningFields: namesOf(answers.map(answer => answer.fields)),
  }
}
