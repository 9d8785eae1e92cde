/** How a person is told what waits in their inbox: in this browser, by a webhook, by mail. */
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

export function NoticesPage() {
  const { data: settings, error } = useQuery(noticesQuery)
  return (
    <div className="notices">
      <header className="page-head">
        <Link to="/inbox" className="button quiet square back" aria-label="Back to the inbox">
          <BackIcon />
        </Link>
        <h1>Notices</h1>
      </header>
      <div className="notices-scroll">
        <div className="notices-body">
          <p className="muted">
            What waits in your inbox, told where you look. A notice says what asks, in which session, and
            where to answer; never the arguments of a call or the text of a message.
          </p>
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
      <h2 id="notices-browser">In this browser</h2>
      <p className="muted">{isOn ? 'It tells you while a page of Cairn is open.' : 'Off.'}</p>
      <Button
        className="button"
        data-testid="notices-browser"
        onPress={() => {
          void toggleNotices().then(setOn)
        }}
      >
        {isOn ? 'Turn off' : 'Turn on'}
      </Button>
    </section>
  )
}
