/** Exports a chat as Markdown: messages, questions and tool calls. Pure. */
import type { Session } from '@cairn/protocol'
import type { ChatItem, ConversationMessage, SessionView } from '@cairn/state'
import { generalWords } from '../words/general.ts'
import { sessionMenuWords } from '../words/session-menu.ts'

const WORDS = sessionMenuWords.markdown

type Head = Pick<Session, 'id' | 'agent' | 'title' | 'created_at'>

export function chatMarkdown({ id, agent, title, created_at }: Head, { items }: SessionView): string {
  const head = [`# ${title ?? generalWords.untitledSession}`, WORDS.session(agent, id, created_at)]
  return `${[...head, ...items.flatMap(item => partOf(item) ?? [])].join('\n\n')}\n`
}

/** Null for items that the export leaves out. */
function partOf(item: ChatItem): string | null {
  switch (item.kind) {
    case 'user':
      return item.synthetic === null
        ? [`## ${WORDS.you}, ${item.created_at}`, item.content, ...item.attachments.map(fileLine)].join(
            '\n\n',
          )
        : null
    case 'history':
      return [...item.messages.map(earlierOf), endOf(item.forked_from)].join('\n\n')
    case 'answer':
      return item.content === '' ? null : `## ${WORDS.answer}\n\n${item.content}`
    case 'tool':
      return `### ${WORDS.tool} ${item.name}, ${item.status}\n\n${fenced(argumentsOf(item.arguments))}${
        item.content === null ? '' : `\n\n${fenced(item.content)}`
      }`
    case 'question':
      return item.questions
        .map(({ prompt }) => {
          const given = item.responses?.find(({ question }) => question === prompt)?.answer
          const told = given === undefined ? WORDS.unanswered : WORDS.answered(given)
          return `### ${WORDS.question}\n\n${prompt}\n\n${told}`
        })
        .join('\n\n')
    case 'approval':
      return `### ${WORDS.approval(item.tool_name, item.decision ?? WORDS.undecided)}`
    case 'artifact':
      return `### ${WORDS.artifact(item.name, item.artifact_kind)}`
    case 'notice':
      return `> ${item.text.replaceAll('\n', '\n> ')}`
    default:
      return null
  }
}

const argumentsOf = (args: unknown): string =>
  typeof args === 'string' ? args : JSON.stringify(args, null, 2)

const fileLine = ({ filename, path }: { filename: string; path: string }): string =>
  WORDS.attached(filename, path)

/** A message of the conversation that a fork starts with. */
function earlierOf(message: ConversationMessage): string {
  switch (message.role) {
    case 'user':
      return `## ${WORDS.youEarlier}\n\n${message.content}`
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(
        ({ function: call }) => `### ${WORDS.tool} ${call.name}\n\n${fenced(argumentsOf(call.arguments))}`,
      )
      return [
        ...(message.content === '' ? [] : [`## ${WORDS.answerEarlier}\n\n${message.content}`]),
        ...calls,
      ].join('\n\n')
    }
    case 'tool':
      return fenced(message.content)
  }
}

const endOf = (from: { session_id: string; event_id: number } | null): string =>
  `> ${WORDS.earlier(from?.session_id ?? null)}`

/** A code block whose fence is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(run => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
