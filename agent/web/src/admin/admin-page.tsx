/** The frame of the pages for administrators: what there is at the left, the page at the right. */
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { meQuery } from '../queries.ts'
import { BackIcon } from '../ui/page-icons.tsx'
import { ADMIN_PAGES } from './admin-pages.ts'
import './admin.css'

export function AdminPage() {
  const { data: me } = useQuery(meQuery)
  if (me?.admin === false)
    return (
      <div className="empty" role="alert">
        <h1>For administrators only</h1>
        <p>Ask an administrator of your organisation for what you need here.</p>
        <Link className="button" to="/sessions">
          To the sessions
        </Link>
      </div>
    )
  return (
    <div className="admin">
      <header className="page-head">
        <Link to="/sessions" className="button quiet square back" aria-label="Back to the sessions">
          <BackIcon />
        </Link>
        <h1>Administration</h1>
      </header>
      <nav className="admin-nav" aria-label="Administration">
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
