/** Usage and cost of the organisation by day, grouped by agent, user or model. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type AnswerOf, USAGE_GROUPS, type UsageGroup } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { ChartArtifact } from '../artifacts/chart-artifact.tsx'
import { formatCount, formatSpent, formatTokens } from '../format.ts'
import { Picker } from '../ui/picker.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import { useNow } from '../ui/use-now.ts'
import { accountsQuery, usageQuery, usersQuery } from './admin-queries.ts'
import { daysUntil, totals, usageChart } from './usage-sums.ts'
import { adminWords } from '../words/admin.ts'
import { generalWords } from '../words/general.ts'

const GROUPS = adminWords.groups
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
        <h2>{adminWords.usage}</h2>
        <Choice
          label={adminWords.groupBy}
          value={by}
          values={USAGE_GROUPS}
          text={group => GROUPS[group]}
          onChange={setBy}
        />
        <Choice
          label={adminWords.period}
          value={String(days)}
          values={RANGES.map(String)}
          text={range => adminWords.lastDays(range)}
          onChange={range => setDays(Number(range))}
        />
        <Choice
          label={adminWords.measure}
          value={what}
          values={['tokens', 'cost'] as const}
          text={kind => (kind === 'cost' ? generalWords.cost : generalWords.tokens)}
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
            name={what === 'cost' ? adminWords.costPerDay(GROUPS[by]) : adminWords.tokensPerDay(GROUPS[by])}
            chart={usageChart(rows, what, nameOf, daysUntil(now, days))}
          />
        </div>
      )}
      <UsageTable rows={rows} head={GROUPS[by]} nameOf={nameOf} />
      {!isPending && rows.length === 0 && <p className="faint">{adminWords.noUsage}</p>}
    </div>
  )
}

/** The usage rows name users and service accounts by their ids. */
function useNames(by: UsageGroup): (name: string) => string {
  const isUser = by === 'user'
  const { data: users = [] } = useQuery({ ...usersQuery, enabled: isUser })
  const { data: accounts = [] } = useQuery({ ...accountsQuery, enabled: isUser })
  const names = new Map([...users, ...accounts].map(({ id, name }) => [id, name]))
  return name => (isUser ? (names.get(name) ?? name) : name === '' ? adminWords.unnamed : name)
}

type Rows = AnswerOf<'usage'>['rows']
type TableProps = { rows: Rows; head: string; nameOf: (name: string) => string }

const UsageTable = ({ rows, head, nameOf }: TableProps) => (
  <div className="table-scroll" {...scrollRegion(head)}>
    <table className="table" data-testid="usage">
      <thead>
        <tr>
          <th scope="col">{head}</th>
          <th scope="col" className="numeric">
            {adminWords.calls}
          </th>
          <th scope="col" className="numeric">
            {adminWords.inputTokens}
          </th>
          <th scope="col" className="numeric">
            {adminWords.outputTokens}
          </th>
          <th scope="col" className="numeric">
            {generalWords.cost}
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
  <Picker
    className="admin-choice"
    label={label}
    options={values.map(id => ({ id, text: text(id) }))}
    value={value}
    onChange={onChange}
  />
)
