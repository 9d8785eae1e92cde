/** A plan with its finished, current and pending steps. */
import type { Todo } from '@cairn/protocol'
import { ExactText } from '../ui/exact-text.tsx'
import { toolsWords } from '../words/tools.ts'

const SIGNS = { pending: '○', in_progress: '◐', completed: '●', cancelled: '–' } as const
const WORDS = toolsWords.plan

/** `todos` from a log may have any shape; invalid entries are skipped. */
export function PlanList({ todos }: { todos: readonly unknown[] }) {
  return (
    <ol className="plan-list" data-testid="plan-list">
      {todos.filter(isTodo).map(({ id, status, content }) => (
        <li key={id} data-status={status}>
          <span aria-label={WORDS[status]} role="img">
            {SIGNS[status]}
          </span>
          <span dir="auto">
            <ExactText text={content} />
          </span>
        </li>
      ))}
    </ol>
  )
}

function isTodo(value: unknown): value is Todo {
  const { id, status, content } = (value ?? {}) as Record<string, unknown>
  return (
    typeof id === 'string' &&
    typeof content === 'string' &&
    typeof status === 'string' &&
    Object.hasOwn(SIGNS, status)
  )
}
