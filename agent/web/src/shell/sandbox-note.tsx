/** Warns every user of the agent when its commands run without a sandbox, or when it has no terminal. */
import { Link } from '@tanstack/react-router'
import { sandboxWords } from '../words/frame-dialogs.ts'

type Props = { sandbox: { terminal: string; summary: string }; isAdmin: boolean }

const HEADS: Readonly<Record<string, string>> = sandboxWords.heads

export default function SandboxNote({ sandbox, isAdmin }: Props) {
  const head = HEADS[sandbox.terminal]
  if (head === undefined) return null
  return (
    <p className="side-note" data-testid="sandbox-notice" title={sandbox.summary}>
      <strong>{head}</strong>{' '}
      {isAdmin && (
        <Link to="/admin/health" className="json-link">
          {sandboxWords.details}
        </Link>
      )}
    </p>
  )
}
