/** The person's webhook: its address, and its secret, which is shown once. */
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { ShownOnce } from '../ui/shown-once.tsx'
import { client, describeError } from '../api.ts'
import type { Settings } from './choose-kinds.tsx'
import { useNotificationChange } from './notification-queries.ts'
import { TestButton } from './test-button.tsx'
import { notificationsWords } from '../words/notifications.ts'
import { generalWords } from '../words/general.ts'

export function WebhookSection({ settings: { webhook, offers } }: { settings: Settings }) {
  const [url, setUrl] = useState('')
  const set = useNotificationChange((url: string) =>
    client.call('setNoticeWebhook', { body: { url }, idempotencyKey: crypto.randomUUID() }),
  )
  const end = useNotificationChange(() => client.call('endNoticeWebhook'))
  const failure = set.error ?? end.error
  return (
    <section className="notices-part" aria-labelledby="notices-webhook">
      <h2 id="notices-webhook">{notificationsWords.webhook}</h2>
      {set.data ? (
        <ShownOnce what={notificationsWords.webhookSecret} secret={set.data.secret} onDone={set.reset} />
      ) : webhook !== null ? (
        <p className="mono notices-to" data-testid="webhook-url">
          {visibleText(webhook.url)}
        </p>
      ) : (
        <p className="muted">{offers.webhook ? generalWords.off : notificationsWords.noWebhooks}</p>
      )}
      {webhook !== null ? (
        <div className="notices-buttons">
          <TestButton way="webhook" />
          <Button className="button danger" isDisabled={end.isPending} onPress={() => end.mutate()}>
            {generalWords.turnOff}
          </Button>
        </div>
      ) : (
        offers.webhook && (
          <form
            className="notices-form"
            onSubmit={event => {
              event.preventDefault()
              set.mutate(url.trim())
            }}
          >
            <label className="notices-field">
              {notificationsWords.url}
              <input
                className="input"
                type="url"
                required
                placeholder={notificationsWords.urlExample}
                data-testid="webhook-address"
                value={url}
                onChange={({ target }) => setUrl(target.value)}
              />
            </label>
            <Button
              type="submit"
              className="button primary"
              isDisabled={set.isPending}
              data-testid="webhook-set"
            >
              {generalWords.turnOn}
            </Button>
          </form>
        )
      )}
      {failure && (
        <p className="inline-error" role="alert">
          {describeError(failure)}
        </p>
      )}
    </section>
  )
}
