/** Rename and archive, from the list and from the session's own page. */
import { Suspense, lazy, useState } from 'react'
import type { Session } from '@cairn/protocol'
import { ArchiveIcon, MoreIcon, PencilIcon } from '../ui/icons.tsx'
import { MenuButton, type MenuEntry } from '../ui/menu-button.tsx'

const SessionDialog = lazy(() => import('./session-dialogs.tsx'))
const ENTRIES: readonly MenuEntry[] = [
  { id: 'rename', text: 'Rename …', icon: <PencilIcon /> },
  { id: 'archive', text: 'Archive …', icon: <ArchiveIcon /> },
]

export function SessionActions({ session }: { session: Session }) {
  const [asking, setAsking] = useState<'rename' | 'archive' | null>(null)
  return (
    <>
      <MenuButton
        className="button quiet square session-menu"
        label={`Actions for ${session.title ?? 'the untitled session'}`}
        testId="session-menu"
        menu={{
          label: 'Session',
          entries: ENTRIES,
          disabled: session.status === 'archived' ? ['archive'] : [],
          onChoose: id => setAsking(id === 'rename' ? 'rename' : 'archive'),
        }}
      >
        <MoreIcon />
      </MenuButton>
      {asking !== null && (
        <Suspense fallback={null}>
          <SessionDialog session={session} asking={asking} onDone={() => setAsking(null)} />
        </Suspense>
      )}
    </>
  )
}
