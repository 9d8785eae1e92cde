/** The head of the inbox: its tabs with counts, and the filters by kind and agent. */
import { INBOX_KINDS, type InboxItem, type InboxKind, visibleText } from '@cairn/protocol'
import { Picker } from '../ui/picker.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { inboxWords } from '../words/inbox.ts'
import { INBOX_TABS, type InboxTab, type InboxView } from './triage.ts'

type TabsProps = {
  tab: InboxTab
  counts: Readonly<Record<InboxTab, number>>
  onChange: (tab: InboxTab) => void
}

export const Tabs = ({ tab, counts, onChange }: TabsProps) => (
  <Segmented
    label={inboxWords.items}
    testId="inbox-tab"
    // Snoozed items are rare: their tab is there while there are some.
    segments={INBOX_TABS.filter(id => id !== 'snoozed' || id === tab || counts.snoozed > 0).map(id => ({
      id,
      text: inboxWords.tabs[id],
      count: counts[id],
    }))}
    chosen={tab}
    onChoose={onChange}
  />
)

const ALL = 'all'

type FilterProps = {
  view: InboxView
  items: readonly InboxItem[]
  onChange: (next: { kind?: InboxKind | undefined; from?: string | undefined }) => void
}

export function FilterFields({ view, items, onChange }: FilterProps) {
  const kinds = INBOX_KINDS.filter(kind => kind === view.kind || items.some(item => item.kind === kind))
  const agents = [
    ...new Set([...items.map(({ agent }) => agent), ...(view.from === undefined ? [] : [view.from])]),
  ]
  return (
    <>
      <Picker
        label={inboxWords.kindFilter}
        options={[
          { id: ALL, text: inboxWords.allKinds },
          ...kinds.map(kind => ({ id: kind, text: inboxWords.kinds[kind] })),
        ]}
        value={view.kind ?? ALL}
        onChange={id => onChange({ kind: INBOX_KINDS.find(kind => kind === id) })}
      />
      <Picker
        label={inboxWords.agentFilter}
        options={[
          { id: ALL, text: inboxWords.allAgents },
          // A name of an agent may be any word.
          ...agents.toSorted().map(agent => ({ id: `agent ${agent}`, text: visibleText(agent) })),
        ]}
        value={view.from === undefined ? ALL : `agent ${view.from}`}
        onChange={id => onChange({ from: id === ALL ? undefined : id.slice('agent '.length) })}
      />
    </>
  )
}
