/** The result of a test in words, with the way to fix a failure. */
import { describeError } from '../api.ts'
import { Status } from '../ui/status.tsx'
import { agentsWords } from '../words/agents.ts'

type Result = { ok: boolean; ms: number; detail: string; advice: string | null }
type Props = { result: Result | undefined; error: Error | null; isPending: boolean }

export function TestResult({ result, error, isPending }: Props) {
  if (isPending) return <Status kind="running" word={agentsWords.testing} />
  if (error !== null)
    return (
      <p className="inline-error" role="alert">
        {describeError(error)}
      </p>
    )
  if (result === undefined) return null
  const { ok, ms, detail, advice } = result
  return (
    <div className="test-result" role="status" data-testid="test-result" data-ok={ok}>
      <Status kind={ok ? 'done' : 'failed'} word={ok ? agentsWords.works : agentsWords.failed} />
      <span>
        {detail} <span className="faint numeric">{agentsWords.inMs(ms)}</span>
      </span>
      {advice !== null && <strong>{advice}</strong>}
    </div>
  )
}
