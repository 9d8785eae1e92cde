/**
 * The right column of the first page: spend, failures with their cure, and the next runs. Loaded once it has
 * content; a section without content is left out.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { formatCost } from '../format.ts'
import { formatAhead } from '../ui/time-ahead.tsx'
import { meQuery, refreshSession } from '../queries.ts'
import { ClockIcon } from '../ui/icons.tsx'
import { generalWords } from '../words/general.ts'
import { homeSideWords } from '../words/home-side.ts'
import type { Home } from './home-query.ts'
import { Section, titleOf } from './section.tsx'

// React.lazy needs a default export.
export default function HomeSide({ home, now }: { home: Home; now: number }) {
  return (
    <>
      <Spend spend={home.spend} />
      <Failed failed={home.failed} />
      <Next next={home.next} now={now} />
    </>
  )
}

function Spend({ spend }: { spend: Home['spend'] }) {
  const { data: me } = useQuery(meQuery)
  const costs = spend.days.map(({ cost_usd }) => cost_usd)
  const highest = Math.max(...costs)
  if (highest === 0) return null
  return (
    <Section
      name="spend"
      title={homeSideWords.spend}
      link={me?.admin === true ? <Link to="/admin/usage">{homeSideWords.usage}</Link> : null}
    >
      <div className="surface spend">
        <p>
          {spend.unpriced && <span className="muted">{homeSideWords.atLeast} </span>}
          <span className="spend-today numeric">{formatCost(spend.today_usd)}</span>
        </p>
        <div
          className="spend-days"
          role="img"
          aria-label={homeSideWords.spendOfDays(formatCost(Math.min(...costs)), formatCost(highest))}
        >
          {spend.days.map(({ day, cost_usd }) => (
            <span key={day}>
              <i style={{ height: `${highest === 0 ? 0 : (cost_usd / highest) * 100}%` }} />
              <b>{WEEKDAY.format(new Date(`${day}T12:00:00Z`)).slice(0, 2)}</b>
            </span>
          ))}
        </div>
      </div>
    </Section>
  )
}
/** Usage is counted by UTC days. */
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', timeZone: 'UTC' })

function Failed({ failed }: { failed: Home['failed'] }) {
  if (failed.sessions.length === 0) return null
  return (
    <Section name="failed" title={homeSideWords.failed} count={failed.count}>
      <ul className="list">
        {failed.sessions.map(one => (
          <FailedRow key={one.session.id} {...one} />
        ))}
      </ul>
    </Section>
  )
}

/** The HTTP status that the error of a provider names. */
const statusIn = (error: string | null): string | null => /\b[45]\d\d\b/.exec(error ?? '')?.[0] ?? null

function FailedRow({ session, category, error }: Home['failed']['sessions'][number]) {
  const cause =
    category === null
      ? homeSideWords.unknownCause
      : homeSideWords.causeWith(homeSideWords.causes[category], statusIn(error))
  return (
    <li className="home-row" data-testid="failed-session" data-session-id={session.id}>
      <Link
        className="home-what"
        to="/sessions/$sessionId"
        params={{ sessionId: session.id }}
        title={visibleText(error ?? cause)}
      >
        <span className="truncate">{titleOf(session)}</span>
        <span className="truncate muted">{cause}</span>
      </Link>
      <Cure session={session} category={category} />
    </li>
  )
}

/** The button that cures the cause: another key, other settings, or a new attempt. */
function Cure({ session, category }: Pick<Home['failed']['sessions'][number], 'session' | 'category'>) {
  const queries = useQueryClient()
  const retry = useMutation({
    mutationFn: () => client.call('retrySession', { params: { id: session.id } }),
    onSuccess: async () => {
      await refreshSession(queries, session.id)
      await queries.invalidateQueries({ queryKey: ['home'] })
    },
  })
  const title = titleOf(session)
  if (category === 'auth_failed' || category === 'configuration') {
    const word = category === 'auth_failed' ? homeSideWords.fixKey : homeSideWords.fixSettings
    return (
      <Link className="button small" to="/agents" aria-label={`${word}: ${title}`}>
        {word}
      </Link>
    )
  }
  return (
    <button
      type="button"
      className="button small"
      disabled={retry.isPending}
      aria-label={`${generalWords.retry}: ${title}`}
      onClick={() => retry.mutate()}
      data-testid="home-retry"
    >
      {generalWords.retry}
    </button>
  )
}

function Next({ next, now }: { next: Home['next']; now: number }) {
  if (next.length === 0) return null
  return (
    <Section name="next" title={homeSideWords.next}>
      <ul className="list">
        {next.map(({ schedule_id, name, at }) => (
          <li key={schedule_id}>
            <Link to="/schedules" className="home-row">
              <span className="kind-icon">
                <ClockIcon />
              </span>
              <span className="home-what">
                <span className="truncate">{visibleText(name)}</span>
                <span className="muted numeric">{formatAhead(at, now)}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  )
}
