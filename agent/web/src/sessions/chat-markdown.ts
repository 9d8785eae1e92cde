/** A chat as Markdown, for people to keep: what was said, asked and called. Pure. */
import type { Session } from '@cairn/protocol'
import type { ChatItem, SessionView } from '@cairn/state'

type Head = Pick<Session, 'id' | 'agent' | 'title' | 'created_at'>

export function chatMarkdown({ id, agent, title, created_at }: Head, { items }: SessionView): string {
  const head = [`# ${title ?? 'Untitled session'}`, `${agent}, session ${id}, begun ${created_at}`]
  return `${[...head, ...items.flatMap(item => partOf(item) ?? [])].join('\n\n')}\n`
}

/** Null for what a reader of the text does not need. */
function partOf(item: ChatItem): string | null {
  switch (item.kind) {
    case 'user':
      return item.synthetic === null ? `## You, ${item.created_at}\n\n${item.content}` : null
    case 'answer':
      return item.content === '' ? null : `## Answer\n\n${item.content}`
    case 'tool': {
      const shown =
        typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments, null, 2)
      return `### Tool ${item.name}, ${item.status}\n\n${fenced(shown)}${
        item.content === null ? '' : `\n\n${fenced(item.content)}`
      }`
    }
    case 'question':
      return item.questions
        .map(({ prompt }) => {
          const given = item.responses?.find(({ question }) => question === prompt)?.answer
          const told = given === undefined ? 'Without an answer.' : `Answer: ${given}`
          return `### Question\n\n${prompt}\n\n${told}`
        })
        .join('\n\n')
    case 'approval':
      return `### Approval of ${item.tool_name}: ${item.decision ?? 'not decided'}`
    case 'artifact':
      return `### Artifact ${item.name} (${item.artifact_kind})`
    case 'notice':
      return `> ${item.text.replaceAll('\n', '\n> ')}`
    default:
      return null
  }
}

/** A fence that the text does not close. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(run => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
