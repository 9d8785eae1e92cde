/** Web Push: notifications of this browser while no page is open, and the other browsers that receive them. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { TimeOf } from '../ui/time-of.tsx'
import { generalWords } from '../words/general.ts'
import { notificationsWords } from '../words/notifications.ts'
import type { Settings } from './choose-kinds.tsx'
import { useNotificationChange } from './notification-queries.ts'
import { canPush, thisBrowser, turnOffPush, turnOnPush } from './push-browser.ts'
import { TestButton } from './test-button.tsx'

const WORDS = notificationsWords.push

export function PushSection({ settings: { push, offers } }: { settings: Settings }) {
  const queries = useQueryClient()
  const { data: mine = null } = useQuery({ queryKey: ['push-browser'], queryFn: thisBrowser })
  const [isRefused, setRefused] = useState(false)
  const toggle = useNotificationChange(async (isOn: boolean) => {
    if (isOn) setRefused(!(await turnOnPush()))
    else await turnOffPush()
    await queries.invalidateQueries({ queryKey: ['push-browser'] })
  })
  const remove = useNotificationChange((browser_id: string) =>
    client.call('unsubscribePush', { params: { browser_id } }),
  )
  // The server may have removed it, or not know it.
  const isOn = push.some(({ id }) => id === mine)
  const others = push.filter(({ id }) => id !== mine)
  const failure = toggle.error ?? remove.error
  const canTurnOn = offers.push && canPush()
  return (
    <section className="notices-part" aria-labelledby="notices-push">
      <h2 id="notices-push">{WORDS.title}</h2>
      <p className="muted" data-testid="push-state">
        {isOn ? WORDS.on : offers.push ? (canPush() ? WORDS.off : WORDS.unsupported) : WORDS.notOffered}
      </p>
      {isRefused && (
        <p className="inline-error" role="alert">
          {WORDS.refused}
        </p>
      )}
      <div className="notices-buttons">
        {(isOn || canTurnOn) && (
          <Button
            className="button"
            isDisabled={toggle.isPending}
            onPress={() => toggle.mutate(!isOn)}
            data-testid="push-toggle"
          >
            {isOn ? generalWords.turnOff : generalWords.turnOn}
          </Button>
        )}
        {push.length > 0 && <TestButton way="push" />}
      </div>
      {others.length > 0 && (
        <ul className="notices-browsers" aria-label={WORDS.others}>
          {others.map(({ id, created_at }) => (
            <li key={id}>
              <span>
                {WORDS.other} <TimeOf at={created_at} />
              </span>
              <Button
                className="button small"
                isDisabled={remove.isPending}
                onPress={() => remove.mutate(id)}
                data-testid="push-remove"
              >
                {WORDS.remove}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {failure && (
        <p className="inline-error" role="alert">
          {describeError(failure)}
        </p>
      )}
    </section>
  )
}
