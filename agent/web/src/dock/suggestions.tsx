/** First messages for an empty session. They are sent as they stand. */
import { useQuery } from '@tanstack/react-query'
import { aboutQuery } from '../queries.ts'
import { useSendMessage } from './use-send-message.ts'

const DEMO = ['Show me what you can do', 'help', 'think hard about it']
const ANY = [
  'What can you do here, and which tools do you have?',
  'Look around in the workspace and tell me what is in it.',
  '/help',
]

export function Suggestions({ sessionId }: { sessionId: string }) {
  const { data: about } = useQuery(aboutQuery)
  const send = useSendMessage(sessionId, () => undefined)
  if (about === undefined) return null
  return (
    <div className="suggestions" role="group" aria-label="Suggestions">
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
