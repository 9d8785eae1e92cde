/** Shows whether the page still receives events. */
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import type { Connection, FollowedSession } from './followed-session.ts'
import { sessionWords } from '../words/session.ts'

const WORDS: Record<Connection, string> = sessionWords.connections

export function ConnectionBadge({ log }: { log: FollowedSession }) {
  const { connection } = log
  return (
    <>
      <span
        className="connection"
        data-state={connection}
        data-testid="connection"
        role="status"
        title={connection === 'failed' ? describeError(log.failure) : undefined}
      >
        {WORDS[connection]}
      </span>
      {connection === 'failed' && (
        <Button
          className="button quiet small"
          onPress={() => {
            log.follow()
          }}
        >
          {sessionWords.reconnect}
        </Button>
      )}
    </>
  )
}
