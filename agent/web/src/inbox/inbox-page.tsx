/**
 * The inbox as triage: what needs the person, news, and what was decided, as a list beside the open item.
 * Tab, filters and the open item are in the address.
 */
import { useRef } from 'react'
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import { Empty } from '../ui/empty.tsx'
import { BackIcon, InboxIcon } from '../ui/icons.tsx'
import { Page } from '../ui/page.tsx'
import { inboxWords } from '../words/inbox.ts'
import { BatchPane } from './batch-pane.tsx'
import { FilterFields, Tabs } from './inbox-head.tsx'
import { InboxList } from './inbox-list.tsx'
import { ItemPane } from './item-pane.tsx'
import { type InboxView, toggled } from './triage.ts'
import { type Inbox, NONE, useInbox, useKeysOf } from './use-inbox.ts'
import './inbox.css'

export function InboxPage() {
  const inbox = useInbox()
  const pane = useRef<HTMLDivElement>(null)
  useKeysOf(inbox, pane)
  const { view, open, chosen, isPhone, go, onDecided } = inbox
  const isOpenOnPhone = isPhone && open !== undefined
  return (
    <Page
      title={inboxWords.inbox}
      width="full"
      back={
        isOpenOnPhone ? (
          <Button className="button quiet square back" onPress={inbox.close} aria-label={inboxWords.back}>
            <BackIcon />
          </Button>
        ) : undefined
      }
      facts={
        !isOpenOnPhone && (
          <Tabs
            tab={view.tab}
            counts={inbox.counts}
            onChange={tab => {
              inbox.select(NONE)
              go({ tab, item: undefined })
            }}
          />
        )
      }
      actions={!isOpenOnPhone && <FilterFields view={view} items={inbox.loaded ?? []} onChange={go} />}
    >
      {inbox.error !== null && (
        <p className="inline-error" role="alert">
          {describeError(inbox.error)}
        </p>
      )}
      <div className="inbox" data-open={open !== undefined || undefined}>
        <Side inbox={inbox} />
        <div className="inbox-open-item" ref={pane}>
          {chosen.length > 1 ? (
            <BatchPane key={chosen.map(({ id }) => id).join()} items={chosen} onDecided={onDecided} />
          ) : (
            open !== undefined && (
              <ItemPane
                key={open.id}
                item={open}
                onDecided={() => onDecided(new Set([open.id]))}
                setAside={inbox.setAside}
              />
            )
          )}
        </div>
      </div>
    </Page>
  )
}

function Side({ inbox }: { inbox: Inbox }) {
  const { view, groups, ordered, loaded, open, selected, select, setAside } = inbox
  return (
    <div className="inbox-side">
      <div className="inbox-scroll">
        {view.tab === 'news' && ordered.length > 1 && (
          <Button
            className="button inbox-all-done"
            isDisabled={setAside.acknowledge.isPending}
            onPress={() => setAside.acknowledge.mutate(ordered)}
            data-testid="acknowledge-all"
          >
            {inboxWords.acknowledgeAll} <kbd>⇧E</kbd>
          </Button>
        )}
        <InboxList
          groups={groups}
          openId={open?.id}
          selected={selected}
          onOpen={inbox.openItem}
          onToggle={item => select(before => toggled(ordered, before, item.id))}
          onSelect={ids => select(new Set(ids))}
        />
        {loaded !== undefined && ordered.length === 0 && (
          <NoItems view={view} isFiltered={loaded.length > 0} onClear={() => inbox.go(UNFILTERED)} />
        )}
      </div>
      <KeyHints />
    </div>
  )
}

const UNFILTERED = { kind: undefined, from: undefined }

type NoItemsProps = { view: InboxView; isFiltered: boolean; onClear: () => void }

const NoItems = ({ view: { tab }, isFiltered, onClear }: NoItemsProps) =>
  isFiltered ? (
    <Empty icon={<InboxIcon />} title={inboxWords.noMatch}>
      <Button className="button" onPress={onClear}>
        {inboxWords.clearFilter}
      </Button>
    </Empty>
  ) : (
    <Empty icon={<InboxIcon />} title={inboxWords.empty[tab]}>
      <p>{inboxWords.about[tab]}</p>
    </Empty>
  )

const HINTS: readonly [keys: readonly string[], word: string][] = [
  [['J', 'K'], inboxWords.keys.move],
  [['X'], inboxWords.keys.select],
  [['A'], inboxWords.keys.approve],
  [['R'], inboxWords.keys.reject],
  [['E'], inboxWords.keys.done],
  [['?'], inboxWords.keys.all],
]

const KeyHints = () => (
  <footer className="inbox-keys" aria-hidden="true">
    {HINTS.map(([keys, word]) => (
      <span key={word}>
        {keys.map(key => (
          <kbd key={key}>{key}</kbd>
        ))}{' '}
        {word}
      </span>
    ))}
  </footer>
)
