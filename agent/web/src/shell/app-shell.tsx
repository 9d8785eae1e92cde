/**
 * The frame of every page: the navigation at the left, the page as a sheet at the right. The navigation folds
 * to its icons; on a phone it is a bar below the page.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useNotifications, useTabCount } from '../inbox/tab-calls.ts'
import { focusTask, NEW_HASH } from '../home/task-field.ts'
import { aboutQuery, meQuery } from '../queries.ts'
import { useSessionsLive } from '../sessions/sessions-live.ts'
import { CairnMark, PlusIcon, SearchIcon } from '../ui/icons.tsx'
import { AccountMenu } from './account-menu.tsx'
import { DialogHost } from '../ui/dialog-host.tsx'
import { useInboxCount } from '../ui/inbox-count.tsx'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { Nav } from './nav.tsx'
import { pagesFor } from './nav-pages.ts'
import { Recent } from './recent.tsx'
import { useFold } from './use-fold.ts'
import { useKeys } from './use-keys.ts'
import './app-shell.css'
import { shellWords } from '../words/shell.ts'
import { generalWords } from '../words/general.ts'
import { sessionsWords } from '../words/sessions.ts'
import { useEffect, lazy, Suspense, useState } from 'react'
import { followChanges } from '../live/live.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { sayError } from '../ui/toasts.tsx'
import { wantsNotifications } from '../inbox/desktop-notifications.ts'

type Opened = 'palette' | 'keys' | 'connect'

export function AppShell() {
  useInboxLive()
  useSessionsLive()
  useTabCount(useInboxCount())
  useNotifications()
  const [opened, setOpened] = useState<Opened | null>(null)
  usePaletteKey(() => setOpened(was => (was === 'palette' ? null : 'palette')))
  const path = useRouterState({ select: state => state.location.pathname })
  const { data: me } = useQuery(meQuery)
  const { data: about } = useQuery(aboutQuery)
  const pages = pagesFor(me?.admin === true)
  const navigate = useNavigate()
  const [isFolded, toggleFold] = useFold(path)
  const isPhone = useMediaQuery('(max-width: 760px)')
  const startNew = () => {
    if (!focusTask()) void navigate({ to: '/', hash: NEW_HASH })
  }
  useKeys({ pages, onNew: startNew, onHelp: () => setOpened('keys'), onFold: toggleFold })
  const close = () => setOpened(null)
  return (
    <div
      className="shell"
      // In a session the bar of a phone makes room for the composer.
      data-page={path.startsWith('/sessions/') ? 'session' : 'page'}
      data-folded={isFolded || undefined}
    >
      <a className="skip" href="#page">
        {shellWords.skipToPage}
      </a>
      <aside className="sidebar" aria-label={shellWords.sidebar}>
        {!isPhone && <SidebarTop onSearch={() => setOpened('palette')} />}
        <Nav isPhone={isPhone} />
        {!isPhone && (
          <>
            <Recent />
            {about?.demo === true && <DemoNote onConnect={() => setOpened('connect')} />}
            {about !== undefined && about.sandbox.terminal !== 'boxed' && (
              <Suspense fallback={null}>
                <SandboxNote sandbox={about.sandbox} isAdmin={me?.admin === true} />
              </Suspense>
            )}
            <AccountMenu />
          </>
        )}
      </aside>
      <main className="page" id="page">
        <Outlet />
      </main>
      <Suspense fallback={null}>
        {opened === 'palette' && (
          <Palette onClose={close} onFold={toggleFold} onKeys={() => setOpened('keys')} />
        )}
        {opened === 'keys' && <KeysDialog pages={pages} onClose={close} />}
        {opened === 'connect' && <ConnectModel onClose={close} />}
        <DialogHost key={path} />
      </Suspense>
      {/* Loading it must not hide the open dialog that switches the keys off. */}
      <Suspense fallback={null}>{me?.letter_keys === false && <NoLetterKeys />}</Suspense>
    </div>
  )
}

const SidebarTop = ({ onSearch }: { onSearch: () => void }) => (
  <>
    <div className="sidebar-head">
      <Link to="/" className="brand" aria-label={shellWords.homeLink}>
        <CairnMark />
        <span>{generalWords.product}</span>
      </Link>
      <button
        type="button"
        className="button quiet square"
        aria-label={shellWords.search}
        title={shellWords.searchKeys}
        onClick={onSearch}
        data-testid="open-palette"
      >
        <SearchIcon />
      </button>
    </div>
    <Link
      to="/"
      hash={NEW_HASH}
      className="button new-session"
      data-testid="new-session"
      aria-keyshortcuts={shellWords.newKey}
      title={shellWords.newKeys}
      onClick={event => {
        if (focusTask()) event.preventDefault()
      }}
    >
      <PlusIcon />
      <span className="nav-label">{sessionsWords.newSession}</span>
      <kbd aria-hidden="true">{shellWords.newKey}</kbd>
    </Link>
  </>
)

// Each is loaded on first use.
const Palette = lazy(() => import('./palette.tsx'))
const KeysDialog = lazy(() => import('./keys-dialog.tsx'))
const ConnectModel = lazy(() => import('../home/connect-model.tsx'))
const NoLetterKeys = lazy(() => import('./no-letter-keys.tsx'))
const SandboxNote = lazy(() => import('./sandbox-note.tsx'))

/** Reads the inbox lists again on each change in the stream. */
function useInboxLive(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const start = () =>
      followChanges({
        onItems: changes => {
          if (changes.some(({ type }) => type !== 'session'))
            void queries.invalidateQueries({ queryKey: ['inbox'] })
        },
        onFailed: sayError,
      })
    return followWhileVisible(start, wantsNotifications)
  }, [queries])
}

const DemoNote = ({ onConnect }: { onConnect: () => void }) => (
  <p className="side-note" data-testid="demo-notice">
    {shellWords.demoModel}{' '}
    <button type="button" className="json-link" onClick={onConnect} data-testid="connect-model">
      {shellWords.connectModel}
    </button>
  </p>
)

/** Calls `toggle` on Ctrl+K (or ⌘K) from anywhere. */
function usePaletteKey(toggle: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      toggle()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  })
}
