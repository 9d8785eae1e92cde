/** The open menu of a session. Separate from its button, because the first page has no open menu. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { RefObject } from 'react'
import type { Session } from '@cairn/protocol'
import { PencilIcon } from '../ui/page-icons.tsx'
import { aboutQuery } from '../queries.ts'
import { ArchiveIcon } from '../ui/icons.tsx'
import { showDialog } from '../ui/dialog-host.tsx'
import MenuPopover, { type MenuEntry } from '../ui/menu-popover.tsx'
import { sayError } from '../ui/toasts.tsx'
import { doToSession } from './session-deeds.ts'
import { sessionMarksQuery, setPinned } from './session-marks-query.ts'
import { ShareDialog } from './share-dialog.tsx'
import { SessionDialog } from './session-dialogs.tsx'
import { sessionMenuWords } from '../words/session-menu.ts'

const PIN: MenuEntry = { id: 'pin', text: sessionMenuWords.menu.pin, testId: 'pin' }
const UNPIN: MenuEntry = { id: 'unpin', text: sessionMenuWords.menu.unpin, testId: 'unpin' }
const RENAME: MenuEntry = { id: 'rename', text: sessionMenuWords.menu.rename, icon: <PencilIcon /> }
const EXPORTS: readonly MenuEntry[] = [
  { id: 'markdown', text: sessionMenuWords.menu.markdown, detail: sessionMenuWords.menu.markdownHint },
  { id: 'jsonl', text: sessionMenuWords.menu.jsonl, detail: sessionMenuWords.menu.jsonlHint },
]
const SHARE: MenuEntry = {
  id: 'share',
  text: sessionMenuWords.menu.share,
  detail: sessionMenuWords.menu.shareHint,
}
const ARCHIVE: MenuEntry = { id: 'archive', text: sessionMenuWords.menu.archive, icon: <ArchiveIcon /> }
const RESTORE: MenuEntry = { id: 'restore', text: sessionMenuWords.menu.restore, icon: <ArchiveIcon /> }

type Props = { session: Session; button: RefObject<HTMLButtonElement | null>; onDone: () => void }

// React.lazy needs a default export.
export default function SessionMenu({ session, button, onDone }: Props) {
  const queries = useQueryClient()
  const isArchived = session.status === 'archived'
  const isWorker = session.parent_id !== null
  const { data: about } = useQuery(aboutQuery)
  const { data: marks } = useQuery(sessionMarksQuery)
  const pin = marks?.pins.includes(session.id) === true ? UNPIN : PIN
  const isShared = (about?.share_days ?? 0) > 0 && !isArchived
  const choose = (id: string) => {
    onDone()
    if (id === 'share') showDialog(close => <ShareDialog session={session} onDone={close} />)
    else if (id === 'rename' || id === 'archive')
      showDialog(close => <SessionDialog session={session} asking={id} onDone={close} />)
    else if (id === 'pin' || id === 'unpin') setPinned(queries, [session.id], id === 'pin').catch(sayError)
    else doToSession(id, session, queries).catch(sayError)
  }
  return (
    <MenuPopover
      menu={{
        label: sessionMenuWords.menu.label,
        entries: [
          ...(isWorker ? [] : [pin]),
          RENAME,
          ...(isShared ? [SHARE] : []),
          ...EXPORTS,
          isArchived ? RESTORE : ARCHIVE,
        ],
        disabled: isArchived ? ['rename', ...(isWorker ? ['restore'] : [])] : [],
        onChoose: choose,
      }}
      button={button}
      onClose={onDone}
    />
  )
}
