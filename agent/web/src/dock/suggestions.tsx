/** Suggested first messages of an empty session. A click sends one unchanged. */
import { useQuery } from '@tanstack/react-query'
import { aboutQuery } from '../queries.ts'
import { useSendMessage } from './use-send-message.ts'
import { composerWords } from '../words/composer.ts'

const DEMO = composerWords.demo
const ANY = composerWords.first

export function Suggestions({ sessionId }: { sessionId: string }) {
  const { data: about } = useQuery(aboutQuery)
  const send = useSendMessage(sessionId, () => undefined)
  if (about === undefined) return null
  return (
    <div className="suggestions" role="group" aria-label={composerWords.suggestions}>
      {(about.demo ? DEMO : ANY).map(content => (
        <button
          key={content}
          type="button"
          className="button"
          disabled={send.isPending}
          onClick={() => send.mutate({ content, on_question: 'refuse' })}
          data-testid="suggestion"
        >
          {content}
        </button>
      ))}
    </div>
  )
}
