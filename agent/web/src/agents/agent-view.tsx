/** The settings of an agent in effect, each with its origin. */
import { agentsWords } from '../words/agents.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import type { SettingDetail } from './setting-queries.ts'
import { settingsText } from './setting-values.ts'

export function AgentView({ detail }: { detail: SettingDetail }) {
  const { settings, fields, yaml } = detail
  const rows = Object.entries(settings)
    .filter(([key]) => key !== 'system')
    .toSorted(([a], [b]) => rankOf(a, fields) - rankOf(b, fields))
  return (
    <div className="agent-sections" data-testid="agent-view">
      <section className="agent-section">
        <h3>
          {agentsWords.sections.instructions} <Origin of={fields['system']} />
        </h3>
        <pre className="agent-prompt" data-testid="agent-prompt">
          {String(settings['system'] ?? '')}
        </pre>
      </section>
      <section className="agent-section">
        <h3>{agentsWords.inEffect}</h3>
        <div className="table-scroll agent-facts">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{agentsWords.setting}</th>
                <th scope="col">{agentsWords.value}</th>
                <th scope="col">{agentsWords.origin}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(([key, value]) => (
                <tr key={key}>
                  <th scope="row" className="mono">
                    {key}
                  </th>
                  <td>
                    <Value value={value} />
                  </td>
                  <td>
                    <Origin of={fields[key]} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <details className="agent-section">
        <summary>{agentsWords.sections.yaml}</summary>
        <p className="faint">{agentsWords.yamlHint}</p>
        <div className="agent-yaml">
          <pre>{yaml}</pre>
          <CopyButton text={yaml} name={agentsWords.sections.yaml} />
        </div>
      </details>
    </div>
  )
}

/** What was decided comes before the defaults. */
const rankOf = (key: string, fields: SettingDetail['fields']): number =>
  key === 'model' ? 0 : fields[key] === 'default' ? 2 : 1

const Origin = ({ of = 'default' }: { of?: keyof typeof agentsWords.origins | undefined }) => (
  <span className="badge" data-origin={of}>
    {agentsWords.origins[of]}
  </span>
)

function Value({ value }: { value: unknown }) {
  if (typeof value === 'boolean') return value ? agentsWords.yes : agentsWords.no
  if (Array.isArray(value)) return value.length === 0 ? <Unset /> : value.map(String).join(', ')
  if (typeof value === 'object' && value !== null) {
    const text = settingsText(value as SettingDetail['settings'])
    return text === '' ? <Unset /> : <pre className="agent-nested">{text}</pre>
  }
  return value === undefined || value === null || value === '' ? <Unset /> : String(value)
}

const Unset = () => <span className="faint">{agentsWords.empty}</span>
