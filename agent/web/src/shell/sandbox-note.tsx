/** What the agent's commands run in, where that is not a box: said to everyone who talks to it. */
import { useQuery } from '@tanstack/react-query'
import { aboutQuery } from '../queries.ts'
import { shellWords } from '../words/shell.ts'

const HEADS: Readonly<Record<string, string>> = shellWords.sandbox

export function SandboxNote() {
  const { data: about } = useQuery(aboutQuery)
  const head = HEADS[about?.sandbox.terminal ?? '']
  if (head === undefined) return null
  return (
    <p className="demo-note" data-testid="sandbox-notice">
      <strong>{head}</strong> {about?.sandbox.summary}
    </p>
  )
}
