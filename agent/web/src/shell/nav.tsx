/**
 * The navigation: pages with their counts and keys. On a phone it is the bar at the bottom of the page, with
 * the other pages behind "More".
 */
import { useQuery } from '@tanstack/react-query'
import { Link, useRouterState } from '@tanstack/react-router'
import { lazy } from 'react'
import { activeMissionsQuery, meQuery } from '../queries.ts'
import { MoreIcon } from '../ui/icons.tsx'
import { InboxCount } from '../ui/inbox-count.tsx'
import { OpenerButton } from '../ui/opener-button.tsx'
import { NAV_ICONS } from './nav-icons.ts'
import { type NavPage, pagesFor } from './nav-pages.ts'
import { shellWords } from '../words/shell.ts'

const AccountEntries = lazy(() => import('./account-entries.tsx'))

export function Nav({ isPhone }: { isPhone: boolean }) {
  const { data: me } = useQuery(meQuery)
  const path = useRouterState({ select: state => state.location.pathname })
  const pages = pagesFor(me?.admin === true)
  const more = pages.filter(({ group }) => group > 1)
  return (
    <nav className="nav" aria-label={shellWords.main}>
      <ul>
        {(isPhone ? pages.filter(({ group }) => group === 1) : pages).map(page => (
          <NavItem key={page.to} page={page} isOpen={isOpen(page.to, path)} />
        ))}
        {isPhone && (
          <li>
            <OpenerButton
              className="nav-link"
              testId="nav-more"
              renderOpen={(button, close) => <AccountEntries pages={more} button={button} onDone={close} />}
            >
              <MoreIcon />
              <span className="nav-label">{shellWords.more}</span>
            </OpenerButton>
          </li>
        )}
      </ul>
    </nav>
  )
}

function NavItem({ page: { to, label, key, icon, group }, isOpen }: { page: NavPage; isOpen: boolean }) {
  const Icon = NAV_ICONS[icon]
  const name = to === '/' ? 'home' : (to.split('/').at(-1) ?? '')
  return (
    <li data-group={group}>
      <Link
        to={to}
        className="nav-link"
        data-testid={`nav-${name}`}
        data-open={isOpen || undefined}
        aria-current={isOpen ? 'page' : undefined}
        aria-keyshortcuts={`G ${key.toUpperCase()}`}
        title={shellWords.goKeys(label, key.toUpperCase())}
      >
        <Icon />
        <span className="nav-label">{label}</span>
        {to === '/inbox' && <InboxCount testId="inbox-count" />}
        {to === '/missions' && <MissionCount />}
      </Link>
    </li>
  )
}

/** Settings has several pages; channels and usage have their own entries. */
function isOpen(to: NavPage['to'], path: string): boolean {
  if (to === '/') return path === '/'
  return to === '/admin/users'
    ? path.startsWith('/admin') && !/^\/admin\/(?:channels|usage)/.test(path)
    : path === to || path.startsWith(`${to}/`)
}

function MissionCount() {
  const { data: running = 0 } = useQuery(activeMissionsQuery)
  return running === 0 ? null : <span className="nav-note numeric">{shellWords.running(running)}</span>
}
