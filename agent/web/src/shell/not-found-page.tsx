/** Shown at an unknown address; loaded on demand. */
import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/empty.tsx'
import { errorsWords } from '../words/errors.ts'
import { generalWords } from '../words/general.ts'

export function NotFoundPage() {
  return (
    <Empty level={1} title={errorsWords.noPage}>
      <Link to="/sessions" className="button">
        {generalWords.goToSessions}
      </Link>
    </Empty>
  )
}
