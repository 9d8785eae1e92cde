/** The rows of a chat: items, and neighbouring tool calls of one kind as a single row. Pure. */
import {
  type ChatItem,
  type Goal,
  GOAL_BLOCKED,
  SPAWN_TASK_TOOL,
  toolWords,
  type ToolGroup,
  type Verdict,
} from '@cairn/state'
import { type InboxItem, isHeld } from '@cairn/protocol'
import { listOf, readCall, textOf, type Arguments } from '../tools/tool-call.ts'
import { isAsked, itemKey, type ItemOf } from './chat-item.ts'

type Call = ItemOf<'tool'>
export type ChatRow =
  | { kind: 'item'; key: string; item: ChatItem }
  | { kind: 'calls'; key: string; group: ToolGroup; calls: readonly Call[] }

type Shown = {
  /** Calls whose approval has a card. */
  gated: ReadonlySet<string>
  /** Calls whose request to a person has a card. */
  asking: ReadonlySet<string>
  /** The goals of the workers that have a row. */
  goals: ReadonlySet<string>
}

/**
 * `from` is the position of the first item in the whole chat, for stable keys. `asking` has the calls whose
 * request to a person is shown as a card, `stated` the events that a card states.
 */
export function rowsOf(
  items: readonly ChatItem[],
  from: number,
  asking: ReadonlySet<string>,
  stated: ReadonlySet<number> = new Set(),
): ChatRow[] {
  const shown: Shown = {
    asking,
    gated: new Set(items.flatMap(item => (item.kind === 'approval' ? [item.tool_call_id] : []))),
    goals: new Set(items.flatMap(item => (item.kind === 'worker' ? [item.goal] : []))),
  }
  const rows: ChatRow[] = []
  for (const [at, item] of items.entries()) {
    if (item.kind === 'tool' && isReplaced(item, shown)) continue
    if (item.kind === 'notice' && stated.has(item.event_id)) continue
    const joined = item.kind === 'tool' ? joinedWith(rows, item) : null
    if (joined === null) rows.push({ kind: 'item', key: itemKey(item, from + at), item })
    else rows[joined.at] = joined.row
  }
  return rows
}

type GradedGoal = Pick<Goal, 'status' | 'outcome_id'> & { verdicts: readonly Pick<Verdict, 'event_id'>[] }

/** The verdict that blocked a goal, while a card asks the user about it. */
export const statedVerdicts = (
  goal: GradedGoal | null,
  cards: readonly Pick<InboxItem, 'payload'>[],
): ReadonlySet<number> =>
  new Set(
    goal?.status === 'blocked' &&
      cards.some(
        ({ payload }) => payload['action_type'] === GOAL_BLOCKED && payload['target'] === goal.outcome_id,
      )
      ? goal.verdicts.slice(-1).map(({ event_id }) => event_id)
      : [],
  )

/** The row of calls that this call continues, with it; null if it begins a row. */
function joinedWith(rows: readonly ChatRow[], call: Call): { at: number; row: ChatRow } | null {
  const group = groupOf(call)
  const at = rows.findLastIndex(row => !(row.kind === 'item' && isSilent(row.item)))
  const before = rows[at]
  if (group === null || before === undefined) return null
  if (before.kind === 'calls')
    return before.group.id === group.id ? { at, row: { ...before, calls: [...before.calls, call] } } : null
  const { item: first } = before
  if (first.kind !== 'tool' || groupOf(first)?.id !== group.id) return null
  return { at, row: { kind: 'calls', key: `calls-${first.tool_call_id}`, group, calls: [first, call] } }
}

/** An answer without text, which only made calls; it stays, so that its key is the same when text arrives. */
const isSilent = (item: ChatItem): boolean =>
  item.kind === 'answer' && !item.streaming && item.content === '' && item.reasoning === ''

const groupOf = ({ name, arguments: args }: Call): ToolGroup | null => toolWords(name, args).group

/** Whether another row shows the call. */
function isReplaced(call: Call, { gated, asking, goals }: Shown): boolean {
  const { name, tool_call_id: id, status, content } = call
  if (isAsked(call) || asking.has(id)) return true
  if (content !== null && isHeld(content)) return gated.has(id)
  if (name === SPAWN_TASK_TOOL) return status === 'done'
  const started = goalsOf(call)
  return started.length > 0 && started.every(goal => goals.has(goal))
}

/** The goals of the workers that a call starts; the workers have rows of their own. */
function goalsOf({ name, arguments: given, status }: Call): string[] {
  if ((name !== 'spawn_worker' && name !== 'delegate_task') || status === 'failed') return []
  const { args } = readCall(name, given, null)
  const several = listOf(args, 'goals').map(each => textOf(each as Arguments, 'goal') ?? '')
  return several.length > 0 ? several : [textOf(args, 'goal') ?? '']
}
