/** The agents with their models, and the health of the service. */
import { useQuery } from '@tanstack/react-query'
import { describeError } from '../api.ts'
import { formatCount } from '../format.ts'
import { aboutQuery } from '../queries.ts'
import { healthQuery } from './admin-queries.ts'
import { scrollRegion } from '../ui/scroll-region.ts'
import { adminWords } from '../words/admin.ts'
import { generalWords } from '../words/general.ts'

export function HealthPage() {
  const { data: about } = useQuery(aboutQuery)
  const { data: health, error } = useQuery(healthQuery)
  return (
    <div className="admin-section">
      <header>
        <h2>{adminWords.health}</h2>
      </header>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {health && (
        <div className="table-scroll" {...scrollRegion(adminWords.health)}>
          <table className="table facts" data-testid="health">
            <tbody>
              <Fact
                name={adminWords.store}
                value={health.ready ? adminWords.acceptingWrites : adminWords.rejectingWrites}
              />
              <Fact name={adminWords.sandbox} value={health.sandbox} />
              <Fact
                name={adminWords.search}
                value={
                  health.sessions_to_index === 0
                    ? adminWords.indexed
                    : adminWords.toIndex(health.sessions_to_index)
                }
              />
              <Fact name={adminWords.openStreams} value={formatCount(health.open_streams)} />
              <Fact name={adminWords.version} value={health.version} />
            </tbody>
          </table>
        </div>
      )}
      <div className="table-scroll" {...scrollRegion(adminWords.health)}>
        <table className="table" data-testid="agents">
          <thead>
            <tr>
              <th scope="col">{generalWords.agent}</th>
              <th scope="col">{generalWords.model}</th>
            </tr>
          </thead>
          <tbody>
            {(about?.agents ?? []).map(({ name, model }) => (
              <tr key={name}>
                <td>{name}</td>
                <td className="mono">{model}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <tr>
    <th scope="row">{name}</th>
    <td>{value}</td>
  </tr>
)
