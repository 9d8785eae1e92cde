/**
 * The open menu of a session and its dialogs. Separate from its button, because the first page has no open
 * menu.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type RefObject, useState } from 'react'
import type { Session } from '@cairn/protocol'
import { PencilIcon } from '../ui/page-icons.tsx'
import { aboutQuery } from '../queries.ts'
import { ArchiveIcon } from '../ui/icons.tsx'
import MenuPopover, { type MenuEntry } from '../ui/menu-popover.tsx'
import { sayError } from '../ui/toasts.tsx'
import { doToSession } from './session-deeds.ts'
import { ShareDialog } from './share-dialog.tsx'
import { SessionDialog } from './session-dialogs.tsx'
import { sessionMenuWords } from '../words/session-menu.ts'

const DIALOGS = ['rename', 'archive', 'share'] as const
type Asking = (typeof DIALOGS)[number]
const isDialog = (id: string): id is Asking => (DIALOGS as readonly string[]).includes(id)

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
  const [asking, setAsking] = useState<Asking | null>(null)
  const queries = useQueryClient()
  const isArchived = session.status === 'archived'
  const isWorker = session.parent_id !== null
  const { data: about } = useQuery(aboutQuery)
  const isShared = (about?.share_days ?? 0) > 0 && !isArchived
  if (asking === 'share') return <ShareDialog session={session} onDone={onDone} />
  if (asking !== null) return <SessionDialog session={session} asking={asking} onDone={onDone} />
  const choose = (id: string) => {
    if (isDialog(id)) return setAsking(id)
    doToSession(id, session, queries).catch(sayError)
    onDone()
  }
  return (
    <MenuPopover
      menu={{
        label: sessionMenuWords.menu.label,
        entries: [RENAME, ...(isShared ? [SHARE] : []), ...EXPORTS, isArchived ? RESTORE : ARCHIVE],
        disabled: isArchived ? ['rename', ...(isWorker ? ['restore'] : [])] : [],
        onChoose: choose,
      }}
      button={button}
      onClose={onDone}
    />
  )
}
