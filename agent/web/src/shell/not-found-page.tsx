/** What stands at an address that leads nowhere; few see it, so it is loaded then. */
import { Link } from '@tanstack/react-router'

export function NotFoundPage() {
  return (
    <div className="empty">
      <h1>There is nothing at this address</h1>
      <Link to="/sessions" className="button">
        To the sessions
      </Link>
    </div>
  )
}
