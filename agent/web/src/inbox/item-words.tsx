/** The name and the icon of an inbox item, in its row and in its pane. */
import { type EventData, type InboxItem, visibleText } from '@cairn/protocol'
import type { ReactNode } from 'react'
import { proposedSkill } from '../decisions/proposal.tsx'
import { blockedTaskOf } from '../tasks/blocked-item.ts'
import { describeCall } from '../tools/tool-line.ts'
import { ToolIcon } from '../tools/tool-icon.tsx'
import { CheckIcon, ClockIcon, HandIcon, HelpIcon } from '../ui/icons.tsx'
import { BookIcon } from '../ui/page-icons.tsx'
import { generalWords } from '../words/general.ts'
import { inboxWords } from '../words/inbox.ts'
import { toolsWords } from '../words/tools.ts'

type Names = {
  icon: ReactNode
  /** For example "Question". */
  kind: string
  /** An approval is named by its call, for example "Run" and "npm test"; others have no object. */
  verb: string
  object: string
}

const ICONS = {
  input_required: <HelpIcon />,
  action_required: <HandIcon />,
  task_complete: <CheckIcon />,
  progress_checkin: <ClockIcon />,
}

export function namesOf(item: InboxItem): Names {
  const { tool_name: tool, arguments: args } = item.payload
  if (item.kind === 'governance_gate') {
    const call = typeof tool === 'string' ? describeCall(tool, args) : null
    return {
      icon: <ToolIcon name={call?.icon ?? 'spark'} />,
      kind: inboxWords.kinds.governance_gate,
      verb: visibleText(call?.verb ?? item.title),
      object: visibleText(call?.object ?? ''),
    }
  }
  const isProposal = proposedSkill(item) !== null
  return {
    icon: isProposal ? <BookIcon /> : ICONS[item.kind],
    kind: isProposal
      ? inboxWords.proposal
      : blockedTaskOf(item) !== null
        ? generalWords.blocked
        : inboxWords.kinds[item.kind],
    verb: visibleText(item.title),
    object: '',
  }
}

export function ItemName({ item }: { item: InboxItem }) {
  const { verb, object } = namesOf(item)
  return object === '' ? (
    verb
  ) : (
    <>
      {verb} <code>{object}</code>
    </>
  )
}

/** The name as text, for accessible names. */
export function nameOf(item: InboxItem): string {
  const { verb, object } = namesOf(item)
  return object === '' ? verb : `${verb} ${object}`
}

const lineCount = (text: unknown): number =>
  typeof text === 'string' && text !== '' ? text.replace(/\n$/, '').split('\n').length : 0

/** What an item is about, beyond its name: lines of a change, choices of a question, the target of a request. */
export function aboutItem({ kind, payload }: InboxItem): string {
  if (kind === 'governance_gate') {
    const args = Object.entries(payload['arguments'] ?? {})
    const argument = (name: string): unknown => args.find(([key]) => key === name)?.[1]
    if (payload['tool_name'] === 'write_file') return toolsWords.lineCount(lineCount(argument('content')))
    if (payload['tool_name'] !== 'edit_file') return ''
    return `+${lineCount(argument('new_string'))} −${lineCount(argument('old_string'))}`
  }
  const { questions, target } = payload as Partial<EventData<'inbox.input_required'>> & { target?: unknown }
  if (kind === 'input_required') return questions?.[0]?.choices?.map(({ label }) => label).join(', ') ?? ''
  return typeof target === 'string' && URL.canParse(target) ? new URL(target).host : ''
}
