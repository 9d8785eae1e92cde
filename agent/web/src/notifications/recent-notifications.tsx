/** The newest notifications and their delivery states. A failed one shows its error and a retry button. */
import { Button } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { sayError } from '../ui/toasts.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import type { Settings } from './choose-kinds.tsx'
import { useNotificationChange } from './notification-queries.ts'
import { notificationsWords } from '../words/notifications.ts'
import { generalWords } from '../words/general.ts'

type Notice = Settings['recent'][number]
const STATES: Record<Notice['state'], string> = notificationsWords.states

export function RecentNotifications({ notices }: { notices: readonly Notice[] }) {
  const resend = useNotificationChange((notice_id: string) =>
    client.call('resendNotice', { params: { notice_id } }),
  )
  return (
    <section className="notices-part" aria-labelledby="notices-recent">
      <h2 id="notices-recent">{notificationsWords.recent}</h2>
      {notices.length === 0 && <p className="muted">{notificationsWords.noneSent}</p>}
      <div className="notices-recent" role="status" aria-label={notificationsWords.recentNotifications}>
        <ul>
          {notices.map(({ id, way, item_id, state, attempts, error, created_at }) => (
            <li key={id} data-testid="notice" data-state={state}>
              <span className={`badge${state === 'dead' ? ' waiting' : ''}`}>{STATES[state]}</span>
              <span>
                {notificationsWords.ways[way]}
                {item_id === null && `, ${notificationsWords.test}`}
                {attempts > 0 && `, ${generalWords.attempts(attempts)}`}
                {error !== null && `: ${visibleText(error)}`}
              </span>
              {state === 'dead' && (
                <Button
                  className="button small"
                  data-testid="resend-notice"
                  isDisabled={resend.isPending}
                  onPress={() => resend.mutate(id, { onError: sayError })}
                >
                  {generalWords.sendAgain}
                </Button>
              )}
              <TimeOf at={created_at} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}
