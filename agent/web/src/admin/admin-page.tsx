/** The layout of the administration pages: their menu at the left, the page at the right. */
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { meQuery } from '../queries.ts'
import { Empty } from '../ui/empty.tsx'
import { Page } from '../ui/page.tsx'
import { ADMIN_PAGES } from './admin-pages.ts'
import './admin.css'
import { adminWords } from '../words/admin.ts'
import { generalWords } from '../words/general.ts'
import { shellWords } from '../words/shell.ts'

export function AdminPage() {
  const { data: me } = useQuery(meQuery)
  if (me?.admin === false)
    return (
      <Empty level={1} isAlert title={adminWords.adminsOnly}>
        <p>{adminWords.askAdmin}</p>
        <Link className="button" to="/sessions">
          {generalWords.goToSessions}
        </Link>
      </Empty>
    )
  return (
    <Page title={shellWords.settings} width="full">
      <div className="admin">
        <nav className="admin-nav" aria-label={adminWords.administration}>
          {ADMIN_PAGES.map(({ to, label }) => (
            <Link key={to} to={to} className="admin-link">
              {label}
            </Link>
          ))}
        </nav>
        <div className="admin-scroll">
          <Outlet />
        </div>
      </div>
    </Page>
  )
}
