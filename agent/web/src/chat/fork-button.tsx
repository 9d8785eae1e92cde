/** Forks the session at this point; the original stays unchanged. */
import { ForkIcon } from '../ui/page-icons.tsx'
import { useFork } from './use-fork.ts'
import { chatWords } from '../words/chat.ts'

export function ForkButton({ sessionId, eventId }: { sessionId: string; eventId: number }) {
  const fork = useFork(sessionId)
  return (
    <button
      type="button"
      className="button quiet square small"
      aria-label={chatWords.fork}
      title={chatWords.fork}
      disabled={fork.isPending}
      onClick={() => fork.mutate({ event_id: eventId })}
      data-testid="fork"
    >
      <ForkIcon />
    </button>
  )
}
