/** A link to a session by its title, which a model or a person wrote. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { visibleText } from '@cairn/protocol'
import { sessionTitleQuery } from '../queries.ts'

export function SessionLink({ id, unnamed }: { id: string; unnamed: string }) {
  const { data: title } = useQuery(sessionTitleQuery(id))
  return (
    <Link className="json-link" to="/sessions/$sessionId" params={{ sessionId: id }}>
      {typeof title === 'string' ? visibleText(title) : unnamed}
    </Link>
  )
}
