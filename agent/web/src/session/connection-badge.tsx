/** Whether the page still hears the log. */
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import type { Connection, FollowedSession } from './followed-session.ts'

const WORDS: Record<Connection, string> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  draining: 'Server restarting',
  closed: 'Not following',
  failed: 'Disconnected',
}

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
          Connect again
        </Button>
      )}
    </>
  )
}
