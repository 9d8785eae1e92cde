/** Warns every user of the agent when its commands run without a sandbox. */
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
