/** Notification settings: this browser, a webhook, email. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import { canNotify, wantsNotices } from '../inbox/notices.ts'
import { toggleNotices } from '../inbox/toggle-notices.ts'
import { BackIcon } from '../ui/page-icons.tsx'
import { ChooseKinds } from './choose-kinds.tsx'
import { MailSection } from './mail-section.tsx'
import { noticesQuery } from './notice-queries.ts'
import { RecentNotices } from './recent-notices.tsx'
import { WebhookSection } from './webhook-section.tsx'
import './notices.css'
import { notificationsWords } from '../words/notifications.ts'
import { generalWords } from '../words/general.ts'

export function NoticesPage() {
  const { data: settings, error } = useQuery(noticesQuery)
  return (
    <div className="notices">
      <header className="page-head">
        <Link to="/inbox" className="button quiet square back" aria-label={notificationsWords.backToInbox}>
          <BackIcon />
        </Link>
        <h1>{notificationsWords.notifications}</h1>
      </header>
      <div className="notices-scroll">
        <div className="notices-body">
          <p className="muted">{notificationsWords.about}</p>
          {error && (
            <p className="inline-error" role="alert">
              {describeError(error)}
            </p>
          )}
          {canNotify() && <BrowserSection />}
          {settings && (
            <>
              <ChooseKinds settings={settings} />
              <WebhookSection settings={settings} />
              <MailSection settings={settings} />
              <RecentNotices notices={settings.recent} />
            </>
          )}
        </div>
      </div>
    </div>
  )
}

function BrowserSection() {
  const [isOn, setOn] = useState(wantsNotices)
  return (
    <section className="notices-part" aria-labelledby="notices-browser">
      <h2 id="notices-browser">{notificationsWords.inBrowser}</h2>
      <p className="muted">{isOn ? notificationsWords.browserOn : generalWords.off}</p>
      <Button
        className="button"
        data-testid="notices-browser"
        onPress={() => {
          void toggleNotices().then(setOn)
        }}
      >
        {isOn ? generalWords.turnOff : generalWords.turnOn}
      </Button>
    </section>
  )
}
