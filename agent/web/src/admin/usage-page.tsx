/** What the organisation's calls used and cost, day by day: by agent, by whom, by model. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type AnswerOf, USAGE_GROUPS, type UsageGroup } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { ChartArtifact } from '../artifacts/chart-artifact.tsx'
import { formatCount, formatSpent, formatTokens } from '../format.ts'
import { useNow } from '../ui/use-now.ts'
import { accountsQuery, usageQuery, usersQuery } from './admin-queries.ts'
import { daysUntil, totals, usageChart } from './usage-sums.ts'

const GROUPS: Record<UsageGroup, string> = { agent: 'Agent', user: 'Person or account', model: 'Model' }
const RANGES = [7, 30, 90] as const

export function UsagePage() {
  const [by, setBy] = useState<UsageGroup>('agent')
  const [days, setDays] = useState<number>(30)
  const [what, setWhat] = useState<'cost' | 'tokens'>('tokens')
  const { data: rows = [], error, isPending } = useQuery(usageQuery(by, days))
  const nameOf = useNames(by)
  const now = useNow(60_000)
  return (
    <div className="admin-section">
      <header>
        <h2>Use and cost</h2>
        <Choice label="By" value={by} values={USAGE_GROUPS} text={group => GROUPS[group]} onChange={setBy} />
        <Choice
          label="Days"
          value={String(days)}
          values={RANGES.map(String)}
          text={range => `Last ${range} days`}
          onChange={range => setDays(Number(range))}
        />
        <Choice
          label="Of"
          value={what}
          values={['tokens', 'cost'] as const}
          text={kind => (kind === 'cost' ? 'Cost' : 'Tokens')}
          onChange={setWhat}
        />
      </header>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {rows.length > 0 && (
        <div className="admin-chart">
          <ChartArtifact
            name={`${what === 'cost' ? 'Cost in USD' : 'Tokens'} a day, by ${GROUPS[by].toLowerCase()}`}
            chart={usageChart(rows, what, nameOf, daysUntil(now, days))}
          />
        </div>
      )}
      <UsageTable rows={rows} head={GROUPS[by]} nameOf={nameOf} />
      {!isPending && rows.length === 0 && <p className="faint">Nothing was used in these days.</p>}
    </div>
  )
}

/** People and accounts stand in the sums by their ids. */
function useNames(by: UsageGroup): (name: string) => string {
  const isUser = by === 'user'
  const { data: users = [] } = useQuery({ ...usersQuery, enabled: isUser })
  const { data: accounts = [] } = useQuery({ ...accountsQuery, enabled: isUser })
  const names = new Map([...users, ...accounts].map(({ id, name }) => [id, name]))
  return name => (isUser ? (names.get(name) ?? name) : name === '' ? 'not named' : name)
}

type Rows = AnswerOf<'usage'>['rows']
type TableProps = { rows: Rows; head: string; nameOf: (name: string) => string }

const UsageTable = ({ rows, head, nameOf }: TableProps) => (
  <div className="admin-table-wrap">
    <table className="admin-table" data-testid="usage">
      <thead>
        <tr>
          <th scope="col">{head}</th>
          <th scope="col" className="numeric">
            Calls
          </th>
          <th scope="col" className="numeric">
            Tokens in
          </th>
          <th scope="col" className="numeric">
            Tokens out
          </th>
          <th scope="col" className="numeric">
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {totals(rows).map(sum => (
          <tr key={sum.name}>
            <td>{nameOf(sum.name)}</td>
            <td className="numeric">{formatCount(sum.calls)}</td>
            <td className="numeric">{formatTokens(sum.input_tokens)}</td>
            <td className="numeric">{formatTokens(sum.output_tokens)}</td>
            <td className="numeric">{formatSpent(sum.cost_usd, sum.unpriced_calls > 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

type ChoiceProps<T extends string> = {
  label: string
  value: T
  values: readonly T[]
  text: (value: T) => string
  onChange: (value: T) => void
}

const Choice = <T extends string>({ label, value, values, text, onChange }: ChoiceProps<T>) => (
  <select
    className="input admin-choice"
    aria-label={label}
    value={value}
    onChange={event => onChange(event.target.value as T)}
  >
    {values.map(each => (
      <option key={each} value={each}>
        {text(each)}
      </option>
    ))}
  </select>
)
