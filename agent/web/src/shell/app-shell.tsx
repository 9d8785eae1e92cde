/**
 * The layout of every page: the sessions at the left, the page at the right; on a phone one of the two. At
 * the address of the list, the list is the main content at every width. The landmarks depend only on the
 * address, so they always change together with it.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useNotifications, useTabCount } from '../inbox/tab-calls.ts'
import { aboutQuery, inboxQuery, needsAnswer, meQuery } from '../queries.ts'
import { SessionList } from '../sessions/session-list.tsx'
import { NewSession } from '../sessions/new-session.tsx'
import { CairnMark, ClockIcon, InboxIcon, MissionIcon } from '../ui/icons.tsx'
import { ThemeToggle } from '../ui/theme.tsx'
import './app-shell.css'
import { shellWords } from '../words/shell.ts'
import { generalWords } from '../words/general.ts'
import { rich } from '../words/rich.tsx'
import { useEffect, lazy, type ReactNode, Suspense, useState } from 'react'
import { followChanges } from '../live/live.ts'
import { followWhileVisible } from '../ui/follow-while-visible.ts'
import { sayError } from '../ui/toasts.tsx'
import { wantsNotifications } from '../inbox/desktop-notifications.ts'
import { OpenerButton } from '../ui/opener-button.tsx'

export function AppShell() {
  useInboxLive()
  useTabCount(useInboxCount())
  useNotifications()
  const palette = usePalette()
  const path = useRouterState({ select: state => state.location.pathname })
  const { data: about } = useQuery(aboutQuery)
  const isList = path.replace(/\/$/, '') === '/sessions'
  // Changes the role, not the element, so that the list keeps its scroll position and search text.
  const side = isList ? 'main' : 'complementary'
  const Page = isList ? 'aside' : 'main'
  return (
    <div className="shell" data-page={isList ? 'list' : 'detail'}>
      <a className="skip" href={isList ? '#sessions' : '#page'}>
        {isList ? shellWords.skipToSessions : shellWords.skipToPage}
      </a>
      <div className="sidebar" role={side} aria-label={shellWords.sidebar}>
        {isList && <h1 className="visually-hidden">{shellWords.sessions}</h1>}
        <div className="sidebar-head">
          <Link to="/sessions" className="brand" aria-label={shellWords.home}>
            <CairnMark />
            <span>{generalWords.product}</span>
          </Link>
          <ThemeToggle />
          <AccountMenu />
        </div>
        <Nav />
        <SessionList />
        {about?.demo && (
          <p className="demo-note" data-testid="demo-notice">
            <strong>{shellWords.demoModel}</strong>{' '}
            {rich(shellWords.demoHint, { file: <code>cairn.yaml</code> })}
          </p>
        )}
        <SandboxNote />
      </div>
      <Page className="page" id="page" aria-label={isList ? shellWords.sessionArea : undefined}>
        <Outlet />
      </Page>
      {palette}
    </div>
  )
}

function InboxLink() {
  const count = useInboxCount()
  return (
    <Link to="/inbox" className="nav-link" data-testid="nav-inbox">
      <InboxIcon />
      <span>{shellWords.inbox}</span>
      {count > 0 && <span className="visually-hidden">{shellWords.inboxCount}</span>}
      {count > 0 && (
        <span className="badge count" data-testid="inbox-count">
          {count > 99 ? '99+' : count}
        </span>
      )}
    </Link>
  )
}

function Nav() {
  return (
    <nav className="sidebar-nav" aria-label={shellWords.main}>
      <NewSession />
      <InboxLink />
      <Link to="/missions" className="nav-link" data-testid="nav-missions">
        <MissionIcon />
        <span>{shellWords.missions}</span>
      </Link>
      <Link to="/schedules" className="nav-link" data-testid="nav-schedules">
        <ClockIcon />
        <span>{shellWords.schedules}</span>
      </Link>
    </nav>
  )
}

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

/** The number of items that wait for an answer or have not been read. */
function useInboxCount(): number {
  const { data = [] } = useQuery(inboxQuery('pending'))
  return data.filter(item => needsAnswer(item) || item.read_at === null).length
}

const AccountEntries = lazy(() => import('./account-entries.tsx'))

/** The account menu: the logged-in person, password, logout. */
function AccountMenu() {
  const { data: me } = useQuery(meQuery)
  const name = me?.name ?? ''
  return (
    <OpenerButton
      className="button quiet square avatar"
      label={shellWords.accountOf(name)}
      testId="account"
      renderOpen={(button, close) => <AccountEntries button={button} onDone={close} />}
    >
      {(name[0] ?? '·').toUpperCase()}
    </OpenerButton>
  )
}

const HEADS: Readonly<Record<string, string>> = shellWords.sandbox

/** Warns every user of the agent when its commands run without a sandbox. */
function SandboxNote() {
  const { data: about } = useQuery(aboutQuery)
  const head = HEADS[about?.sandbox.terminal ?? '']
  if (head === undefined) return null
  return (
    <p className="demo-note" data-testid="sandbox-notice">
      <strong>{head}</strong> {about?.sandbox.summary}
    </p>
  )
}

const Palette = lazy(() => import('./palette.tsx'))

/** Opens the palette on Ctrl+K (or ⌘K) from anywhere. Its code is loaded on first use. */
function usePalette(): ReactNode {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen(was => !was)
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
  return (
    isOpen && (
      <Suspense fallback={null}>
        <Palette onClose={() => setOpen(false)} />
      </Suspense>
    )
  )
}
