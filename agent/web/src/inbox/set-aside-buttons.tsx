/** Snoozes the open item, or marks it as unread. */
import { lazy } from 'react'
import { Button } from 'react-aria-components'
import type { InboxItem } from '@cairn/protocol'
import { formatTime } from '../format.ts'
import { OpenerButton } from '../ui/opener-button.tsx'
import { useNow } from '../ui/use-now.ts'
import { inboxWords } from '../words/inbox.ts'
import { SNOOZE_IDS, type SnoozeId, snoozeTime } from './snooze.ts'
import type { SetAside } from './use-set-aside.ts'

const MenuPopover = lazy(() => import('../ui/menu-popover.tsx'))

type Props = { item: InboxItem; setAside: SetAside }

export function SetAsideButtons({ item, setAside: { snooze, markUnread } }: Props) {
  if (item.status !== 'pending') return null
  return (
    <>
      <Button
        className="button quiet"
        isDisabled={markUnread.isPending || item.read_at === null}
        onPress={() => markUnread.mutate(item)}
        aria-keyshortcuts="U"
        data-testid="mark-unread"
      >
        {inboxWords.markUnread} <kbd>U</kbd>
      </Button>
      {item.snoozed_until === undefined ? (
        <SnoozeButton onSnooze={id => snooze.mutate({ item, until: snoozeTime(id, new Date()) })} />
      ) : (
        <Button
          className="button"
          isDisabled={snooze.isPending}
          onPress={() => snooze.mutate({ item, until: null })}
          aria-keyshortcuts="H"
          data-testid="snooze"
        >
          {inboxWords.endSnooze} <kbd>H</kbd>
        </Button>
      )}
    </>
  )
}

function SnoozeButton({ onSnooze }: { onSnooze: (id: SnoozeId) => void }) {
  const now = useNow(60_000)
  return (
    <OpenerButton
      className="button"
      testId="snooze"
      renderOpen={(button, close) => (
        <MenuPopover
          menu={{
            label: inboxWords.snoozeUntil,
            entries: SNOOZE_IDS.map(id => ({
              id,
              text: inboxWords.snoozeTimes[id],
              detail: formatTime(snoozeTime(id, new Date(now)).toISOString(), now),
              testId: `snooze-${id}`,
            })),
            onChoose: id => {
              close()
              const chosen = SNOOZE_IDS.find(each => each === id)
              if (chosen !== undefined) onSnooze(chosen)
            },
          }}
          button={button}
          onClose={close}
        />
      )}
    >
      {inboxWords.snooze} <kbd>H</kbd>
    </OpenerButton>
  )
}
