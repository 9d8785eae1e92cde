/** A page of connections to other programs, providers and MCP servers: their list, and a form for a new one. */
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { PlusIcon } from '../ui/icons.tsx'
import { agentsWords } from '../words/agents.ts'
import { type Kind, type Setting, settingsQuery } from './setting-queries.ts'

type Props = {
  kind: Kind
  title: string
  add: string
  none: string
  /** Not counted as an entry: with only such entries, the form for the first one is open. */
  isBuiltIn?: (setting: Setting) => boolean
  testIds: { list: string; add: string }
  NewForm: (props: { onDone: () => void }) => ReactNode
  /** The card of an entry. */
  children: (setting: Setting, page: { isAdmin: boolean; defaultModel: string | null }) => ReactNode
}

export function ConnectionList(props: Props) {
  const { kind, title, add, none, isBuiltIn = () => false, testIds, NewForm, children } = props
  const { data, error, isSuccess } = useQuery(settingsQuery(kind))
  const { data: me } = useQuery(meQuery)
  const [isAdding, setAdding] = useState(false)
  const items = data?.items ?? []
  const isAdmin = me?.admin === true
  const canAdd = isAdmin && data?.editing === true
  const isFirst = isSuccess && items.every(isBuiltIn)
  return (
    <div className="agents-section">
      <header>
        <h2>{title}</h2>
        {canAdd && !isFirst && (
          <Button
            className="button"
            aria-expanded={isAdding}
            onPress={() => setAdding(!isAdding)}
            data-testid={testIds.add}
          >
            <PlusIcon />
            {add}
          </Button>
        )}
      </header>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {isFirst && <p className="faint">{none}</p>}
      {canAdd && (isFirst || isAdding) && <NewForm onDone={() => setAdding(false)} />}
      <ul className="setting-cards" data-testid={testIds.list}>
        {items.map(item => children(item, { isAdmin, defaultModel: data?.default_model ?? null }))}
      </ul>
    </div>
  )
}

type TestProps = { name: string; isPending: boolean; onTest: () => void; testId: string }

/** Tests the connection; the result is shown below it. */
export const ConnectionTest = ({ name, isPending, onTest, testId }: TestProps) => (
  <div className="row-buttons">
    <Button
      className="button small"
      aria-label={agentsWords.testNamed(name)}
      isDisabled={isPending}
      onPress={onTest}
      data-testid={testId}
    >
      {agentsWords.test}
    </Button>
  </div>
)
