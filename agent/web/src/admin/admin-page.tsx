/** The layout of the administration pages: their menu at the left, the page at the right. */
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { meQuery } from '../queries.ts'
import { BackIcon } from '../ui/page-icons.tsx'
import { ADMIN_PAGES } from './admin-pages.ts'
import './admin.css'
import { adminWords } from '../words/admin.ts'
import { generalWords } from '../words/general.ts'

export function AdminPage() {
  const { data: me } = useQuery(meQuery)
  if (me?.admin === false)
    return (
      <div className="empty" role="alert">
        <h1>{adminWords.adminsOnly}</h1>
        <p>{adminWords.askAdmin}</p>
        <Link className="button" to="/sessions">
          {generalWords.goToSessions}
        </Link>
      </div>
    )
  return (
    <div className="admin">
      <header className="page-head">
        <Link to="/sessions" className="button quiet square back" aria-label={generalWords.backToSessions}>
          <BackIcon />
        </Link>
        <h1>{adminWords.administration}</h1>
      </header>
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
  )
}
