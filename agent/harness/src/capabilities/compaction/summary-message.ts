/**
 * The message that replaces the older part of a conversation: its summary, plus what must be kept verbatim.
 */
import { clip } from '@cairn/protocol'
import type { ConversationEntry, ConversationMessage } from '@cairn/state'
import type { CarriedState } from './carried.ts'

/** Maximum length of a worker's goal that is repeated. */
const GOAL_CHARS = 200
const WORKERS = '[Workers at work; do not start them again]'

const SUMMARY = '[Summary of the conversation so far]'
const SHORTENED = '[The conversation so far, shortened]'

/** Whether a compaction created the message. */
export const isSummary = ({ role, content }: ConversationMessage): boolean =>
  role === 'user' && (content.startsWith(SUMMARY) || content.startsWith(SHORTENED))

export type Digest = { kind: 'summary' | 'shortened'; text: string }

export function summaryMessage(
  { kind, text }: Digest,
  state: CarriedState,
): { role: 'user'; content: string } {
  return {
    role: 'user',
    content: [`${kind === 'summary' ? SUMMARY : SHORTENED}\n${text}`, ...stateSections(state)].join('\n\n'),
  }
}

function stateSections({ todos, goal, waiting, workers }: CarriedState): string[] {
  return [
    ...(todos.length > 0
      ? [`[Your plan now]\n${todos.map(todo => `- [${todo.status}] ${todo.id}: ${todo.content}`).join('\n')}`]
      : []),
    ...(goal === null
      ? []
      : [
          `[The goal of this session: ${goal.status}]\n${goal.description}\nIt is graded by:\n${goal.rubric}`,
        ]),
    ...(waiting.length > 0 ? [`[Waiting for a person]\n${waiting.map(line => `- ${line}`).join('\n')}`] : []),
    ...(workers.length > 0 ? [`${WORKERS}\n${workers.map(workerLine).join('\n')}`] : []),
  ]
}

const workerLine = ({ worker_id, agent, goal }: CarriedState['workers'][number]): string =>
  `- ${worker_id} (${agent}): ${clip(goal.replaceAll(/\s+/g, ' '), GOAL_CHARS)}`

/** The text of the previous summary. Its state section is regenerated each time, so it is dropped. */
export function textOfSummary(content: string): string {
  const ends = [
    '\n\n[Your plan now]\n',
    '\n\n[The goal of this session: ',
    '\n\n[Waiting for a person]\n',
    `\n\n${WORKERS}\n`,
  ]
    .map(mark => content.indexOf(mark))
    .filter(at => at !== -1)
  return content.slice(0, ends.length > 0 ? Math.min(...ends) : undefined)
}

const SHORTENED_SUMMARY_CHARS = 8000
const SHORTENED_MESSAGE_CHARS = 300
const SHORTENED_CHARS = 4000

/**
 * The replacement of the older part without a model: the last summary and the beginnings of people's
 * messages, preferring the newest.
 */
export function shorten(older: readonly ConversationEntry[]): Digest {
  const summary = older.find(({ message }) => isSummary(message))
  const said = older
    .filter(({ message }) => message.role === 'user' && !isSummary(message))
    .map(({ message }) => `- ${clip(message.content.replaceAll(/\s+/g, ' '), SHORTENED_MESSAGE_CHARS)}`)
  const kept: string[] = []
  let left = SHORTENED_CHARS
  for (const line of said.toReversed()) {
    left -= line.length
    if (left < 0) break
    kept.unshift(line)
  }
  const note =
    `${older.length} older messages were left out here, because no summary of them could be made. Read ` +
    'files or ask again where you need what they said.'
  const skipped = said.length - kept.length
  const missing = skipped > 0 ? ` (${skipped} older ones left out)` : ''
  return {
    kind: 'shortened',
    text: [
      note,
      ...(summary ? [clip(textOfSummary(summary.message.content), SHORTENED_SUMMARY_CHARS)] : []),
      ...(kept.length > 0 ? [`Messages among them, the oldest first${missing}:\n${kept.join('\n')}`] : []),
    ].join('\n\n'),
  }
}
