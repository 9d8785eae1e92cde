/** Notification settings: this browser, a webhook, email. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import { canNotify, wantsNotifications, NOTIFICATIONS_KEY } from '../inbox/desktop-notifications.ts'
import { BackIcon } from '../ui/icons.tsx'
import { Page } from '../ui/page.tsx'
import { ChooseKinds } from './choose-kinds.tsx'
import { EmailSection } from './email-section.tsx'
import { notificationsQuery } from './notification-queries.ts'
import { PushSection } from './push-section.tsx'
import { RecentNotifications } from './recent-notifications.tsx'
import { WebhookSection } from './webhook-section.tsx'
import './notices.css'
import { notificationsWords } from '../words/notifications.ts'
import { generalWords } from '../words/general.ts'

export function NotificationsPage() {
  const { data: settings, error } = useQuery(notificationsQuery)
  return (
    <Page
      title={notificationsWords.notifications}
      width="read"
      back={
        <Link to="/inbox" className="button quiet square back" aria-label={notificationsWords.backToInbox}>
          <BackIcon />
        </Link>
      }
    >
      <p className="muted">{notificationsWords.about}</p>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {canNotify() && <BrowserSection />}
      {settings && (
        <>
          <PushSection settings={settings} />
          <ChooseKinds settings={settings} />
          <WebhookSection settings={settings} />
          <EmailSection settings={settings} />
          <RecentNotifications notices={settings.recent} />
        </>
      )}
    </Page>
  )
}

function BrowserSection() {
  const [isOn, setOn] = useState(wantsNotifications)
  return (
    <section className="notices-part" aria-labelledby="notices-browser">
      <h2 id="notices-browser">{notificationsWords.inBrowser}</h2>
      <p className="muted">{isOn ? notificationsWords.browserOn : generalWords.off}</p>
      <Button
        className="button"
        data-testid="notices-browser"
        onPress={() => {
          void toggleNotifications().then(setOn)
        }}
      >
        {isOn ? generalWords.turnOff : generalWords.turnOn}
      </Button>
    </section>
  )
}

/** Turning them on asks for the browser's permission. Returns whether they are on. */
async function toggleNotifications(): Promise<boolean> {
  if (wantsNotifications()) {
    localStorage.removeItem(NOTIFICATIONS_KEY)
    return false
  }
  if ((await Notification.requestPermission()) !== 'granted') return false
  localStorage.setItem(NOTIFICATIONS_KEY, 'on')
  return true
}
