/** Shown at an unknown address; loaded on demand. */
import { Link } from '@tanstack/react-router'
import { errorsWords } from '../words/errors.ts'
import { generalWords } from '../words/general.ts'

export function NotFoundPage() {
  return (
    <div className="empty">
      <h1>{errorsWords.noPage}</h1>
      <Link to="/sessions" className="button">
        {generalWords.goToSessions}
      </Link>
    </div>
  )
}
