/** The items that wait for a decision, grouped as in the inbox: calls of one family in one session. Pure. */
import { type InboxItem, visibleText } from '@cairn/protocol'
import { toolWords } from '@cairn/state'
import { homeWords } from '../words/home.ts'

type Kind = keyof typeof homeWords.kinds

export type Need = {
  key: string
  kind: Kind
  kindWord: string
  /** What is asked, as a verb and an object that is code. */
  title: string
  object: string
  session: string | null
  sessionId: string
  agent: string
  /** The time of the oldest item. */
  at: string
  button: string
  count: number
}

const BUTTONS: Record<Kind, string> = {
  governance_gate: homeWords.review,
  input_required: homeWords.answer,
  action_required: homeWords.open,
}

const isKind = (kind: string): kind is Kind => Object.hasOwn(BUTTONS, kind)

const wordsOf = ({ payload }: InboxItem) =>
  typeof payload['tool_name'] === 'string' ? toolWords(payload['tool_name'], payload['arguments']) : null

const familyOf = (item: InboxItem): string => {
  const words = wordsOf(item)
  return words === null ? item.id : (words.group?.id ?? words.verb)
}

function kindWord({ kind, payload }: InboxItem & { kind: Kind }): string {
  if (payload['proposal'] !== undefined) return homeWords.proposal
  return payload['action_type'] === 'task_blocked' ? homeWords.blocked : homeWords.kinds[kind]
}

function titleOf(items: readonly InboxItem[], kind: Kind): Pick<Need, 'title' | 'object'> {
  const [first] = items
  const words = first === undefined ? null : wordsOf(first)
  if (items.length > 1)
    return { title: words?.group?.title(items.length) ?? homeWords.several[kind](items.length), object: '' }
  if (words !== null) return { title: visibleText(words.verb), object: visibleText(words.object) }
  return { title: visibleText(first?.title ?? ''), object: '' }
}

/** Newest first, as the items are. */
export function groupNeeds(items: readonly InboxItem[]): Need[] {
  const groups = new Map<string, InboxItem[]>()
  for (const item of items) {
    if (!isKind(item.kind)) continue
    const key = `${item.session_id} ${item.kind} ${familyOf(item)}`
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  return [...groups].flatMap(([key, group]) => {
    const [first] = group
    if (first === undefined || !isKind(first.kind)) return []
    return {
      key,
      kind: first.kind,
      kindWord: kindWord({ ...first, kind: first.kind }),
      ...titleOf(group, first.kind),
      session: first.session_title === null ? null : visibleText(first.session_title),
      sessionId: first.session_id,
      agent: visibleText(first.agent),
      at: group.at(-1)?.created_at ?? first.created_at,
      button: BUTTONS[first.kind],
      count: group.length,
    }
  })
}
