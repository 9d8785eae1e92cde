/** Which agents there are, with their models, and how the service does. */
import { useQuery } from '@tanstack/react-query'
import { describeError } from '../api.ts'
import { formatCount, plural } from '../format.ts'
import { aboutQuery } from '../queries.ts'
import { healthQuery } from './admin-queries.ts'

export function HealthPage() {
  const { data: about } = useQuery(aboutQuery)
  const { data: health, error } = useQuery(healthQuery)
  return (
    <div className="admin-section">
      <header>
        <h2>Agents and health</h2>
      </header>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {health && (
        <table className="admin-table" data-testid="health">
          <tbody>
            <Fact name="Store" value={health.ready ? 'Takes writes' : 'Refuses writes'} />
            <Fact name="Commands" value={health.sandbox} />
            <Fact
              name="Search"
              value={
                health.sessions_to_index === 0
                  ? 'Everything is indexed'
                  : `${plural(health.sessions_to_index, 'session')} to index`
              }
            />
            <Fact name="Open streams" value={formatCount(health.open_streams)} />
            <Fact name="Version" value={health.version} />
          </tbody>
        </table>
      )}
      <table className="admin-table admin-agents" data-testid="agents">
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Model</th>
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
  )
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <tr>
    <th scope="row">{name}</th>
    <td>{value}</td>
  </tr>
)
