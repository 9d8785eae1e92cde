/** The first page: what needs the reader, what is running, what failed, and the composer. */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { describeError } from '../api.ts'
import { aboutQuery, meQuery } from '../queries.ts'
import { useNow } from '../ui/use-now.ts'
import { greeting } from './greeting.ts'
import { HomeComposer } from './home-composer.tsx'
import { type Home, homeQuery, useHomeLive } from './home-query.ts'
import { Needs, Recent, Running } from './home-sections.tsx'
import './home.css'
import '../ui/page.css'

const FirstDay = lazy(() => import('./first-day.tsx'))
const HomeSide = lazy(() => import('./home-side.tsx'))
const PasswordOffer = lazy(() => import('../password/password-offer.tsx'))

const hasSide = ({ spend, failed, next }: Home): boolean =>
  failed.count + next.length > 0 || spend.days.some(({ cost_usd }) => cost_usd > 0)

const isFirstDay = ({ needs, running, failed, recent }: Home): boolean =>
  needs.count + running.count + failed.count + recent.length === 0

export function HomePage() {
  useHomeLive()
  const { data: home, error } = useQuery(homeQuery)
  const { data: about } = useQuery(aboutQuery)
  const { data: me } = useQuery(meQuery)
  return (
    <div className="home-scroll">
      <div className="home" data-testid="home" data-first={(home && isFirstDay(home)) || undefined}>
        {error !== null && home === undefined && (
          <p className="inline-error" role="alert">
            {describeError(error)}
          </p>
        )}
        {home && about && isFirstDay(home) && (
          <Suspense fallback={null}>
            <FirstDay about={about} />
          </Suspense>
        )}
        {home && about && !isFirstDay(home) && (
          <>
            <Greeting needs={home.needs.count} />
            <HomeComposer about={about} isFirst={false} />
            <Columns home={home} />
          </>
        )}
        {home && me?.has_password === false && (
          <Suspense fallback={null}>
            <PasswordOffer />
          </Suspense>
        )}
      </div>
    </div>
  )
}

function Greeting({ needs }: { needs: number }) {
  const { data: me } = useQuery(meQuery)
  const now = useNow(60_000)
  return (
    <h1 className="home-hello" data-testid="greeting">
      {greeting(me?.name ?? '', needs, new Date(now))}
    </h1>
  )
}

/** A section without content is left out. In one column, style sheets give the order. */
function Columns({ home }: { home: Home }) {
  const now = useNow(10_000)
  return (
    <div className="home-columns">
      <div>
        <Needs needs={home.needs} now={now} />
        <Running running={home.running} now={now} />
        <Recent sessions={home.recent} now={now} />
      </div>
      <div>
        {hasSide(home) && (
          <Suspense fallback={null}>
            <HomeSide home={home} now={now} />
          </Suspense>
        )}
      </div>
    </div>
  )
}
