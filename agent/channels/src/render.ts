/**
 * Renders an event for people. Pure, and the only place that decides what is visible: a type without a row
 * here, or without `channel` in the contract, never reaches a platform.
 */
import { type EventOf, type EventType, isBlank, type SessionEvent, typesWith } from '@cairn/protocol'
import type { OutgoingPart } from './adapter.ts'

export type Piece = Pick<OutgoingPart, 'type' | 'text'> & {
  ask?: { kind: 'question' | 'gate'; about: string; choices: string[]; shown_hash?: string }
  /** Sent as a file if it fits. */
  artifact_id?: string
}
export type Reader = {
  /** A user account is linked to the person of the conversation. */
  isLinked: boolean
  /** URL of the session in the web UI, if the public address is configured. */
  link?: string
  /** The platform has no buttons: decisions are made in the web UI. */
  hasNoButtons?: boolean
  /** Minutes between two updates of a coding run; absent if they are shown in another way, or not at all. */
  updateEveryMin?: number
}

const NOTHING = (): Piece[] => []
const UPDATE = 'code.run_channel_update'
const NO_RESULT = 'The scheduled run ended without a result.'
const WAITING = 'Waiting for an operator.'
/** Longer arguments are shown in the web UI only, because an approval must show them completely. */
const SHOWN_ARGUMENTS = 3000
const at = ({ link }: Reader): string => (link === undefined ? '' : `: ${link}`)

const ROWS: { [T in EventType]?: (event: EventOf<T>, reader: Reader) => Piece[] } = {
  'user.message': NOTHING,
  // Shown best effort as progress, on platforms with edits; the response is the record.
  'llm.delta': NOTHING,
  'llm.response': ({ data }) =>
    data.message.tool_calls !== undefined || isBlank(data.message.content)
      ? []
      : [{ type: 'answer', text: data.message.content }],
  'inbox.input_required': ({ data }) => {
    const [first] = data.questions
    const choices = data.questions.length === 1 ? (first?.choices ?? []).map(({ label }) => label) : []
    const text = data.questions
      .map(({ prompt, choices: given = [] }) =>
        [prompt, ...given.map(({ label }, at) => `${at + 1}. ${label}`)].join('\n'),
      )
      .join('\n\n')
    return [{ type: 'question', text, ask: { kind: 'question', about: data.tool_call_id, choices } }]
  },
  'inbox.governance_gate': ({ data }, reader) => {
    // The item of the repeated call covers both.
    if (data.repeats_tool_call_id !== undefined) return []
    if (!reader.isLinked) return [{ type: 'state', text: WAITING }]
    const shown = data.arguments === undefined ? null : JSON.stringify(data.arguments, null, 2)
    const head = `Approval needed: ${data.tool_name} (${data.deny_reason})`
    if (shown === null || shown.length > SHOWN_ARGUMENTS)
      return [
        {
          type: 'approval',
          text:
            `${head}\nThe arguments are too long to show here: approve or reject in the web ` +
            `UI${at(reader)}.`,
        },
      ]
    const text = `${head}\n\`\`\`json\n${shown}\n\`\`\``
    if (reader.hasNoButtons === true)
      return [{ type: 'approval', text: `${text}\n\nApprove or reject in the web UI${at(reader)}.` }]
    return [
      {
        type: 'approval',
        text,
        ask: {
          kind: 'gate',
          about: data.tool_call_id,
          choices: ['Approve', 'Reject'],
          ...(data.shown_hash === undefined ? {} : { shown_hash: data.shown_hash }),
        },
      },
    ]
  },
  'inbox.action_required': ({ data }, reader) => [
    reader.isLinked
      ? {
          type: 'state',
          text: `${data.title}\n${data.instructions}\nComplete this in the web UI${at(reader)}.`,
        }
      : { type: 'state', text: WAITING },
  ],
  'artifact.created': ({ data }) => [
    {
      type: 'file',
      text: `${data.name} (${data.kind}) is available in the web UI.`,
      artifact_id: data.artifact_id,
    },
  ],
  'loop.result': ({ data }) => [{ type: 'answer', text: isBlank(data.content) ? NO_RESULT : data.content }],
  [UPDATE]: ({ data: { text, minutes = 1 } }, { updateEveryMin }) =>
    updateEveryMin !== undefined && minutes % updateEveryMin === 0 ? [{ type: 'state', text }] : [],
  'session.stopped': () => [{ type: 'state', text: 'Stopped.' }],
  'session.fail': ({ data }) => [
    {
      type: 'state',
      text: `Something went wrong (${data.error_category}). Send a message to try again.`,
    },
  ],
}

export const RENDERED = Object.keys(ROWS) as EventType[]
/** The types that may be visible; others are not even read. */
export const VISIBLE: readonly EventType[] = typesWith('channel').filter(
  type => ROWS[type] !== undefined && ROWS[type] !== NOTHING,
)

/**
 * The types that are delivered as messages of their own. An update of a coding run is part of the progress
 * message where the platform edits messages, and must not move the delivery cursor past that message there.
 */
export const deliveredTypes = ({ updateEveryMin }: Pick<Reader, 'updateEveryMin'>): readonly EventType[] =>
  updateEveryMin === undefined ? VISIBLE.filter(type => type !== UPDATE) : VISIBLE

export function render(event: SessionEvent, reader: Reader): Piece[] {
  if (!VISIBLE.includes(event.type)) return []
  const row = ROWS[event.type] as ((event: SessionEvent, reader: Reader) => Piece[]) | undefined
  return row === undefined ? [] : row(event, reader)
}
