/** The audit trail: every change of settings by an administrator. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import type { AnswerOf } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { Empty } from '../ui/empty.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { agentsWords } from '../words/agents.ts'

type Change = AnswerOf<'listChanges'>['changes'][number]

export function ChangesPage() {
  const { data: me } = useQuery(meQuery)
  if (me?.admin === false)
    return (
      <Empty isAlert title={agentsWords.adminsOnly}>
        <p>{agentsWords.askAdmin}</p>
      </Empty>
    )
  return <Changes />
}

function Changes() {
  const { data, error, hasNextPage, fetchNextPage, isSuccess } = useInfiniteQuery({
    queryKey: ['settings', 'changes'],
    queryFn: ({ pageParam, signal }) =>
      client.call('listChanges', { query: { before: pageParam ?? undefined }, signal }),
    initialPageParam: null as number | null,
    getNextPageParam: page => page.next_before,
  })
  const changes = (data?.pages ?? []).flatMap(page => page.changes)
  return (
    <div className="agents-section">
      <header>
        <h2>{agentsWords.changes}</h2>
      </header>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {isSuccess && changes.length === 0 ? (
        <p className="faint">{agentsWords.noChanges}</p>
      ) : (
        <div className="table-scroll changes">
          <table className="table" data-testid="changes">
            <thead>
              <tr>
                <th scope="col">{agentsWords.when}</th>
                <th scope="col">{agentsWords.who}</th>
                <th scope="col">{agentsWords.what}</th>
                <th scope="col">{agentsWords.why}</th>
              </tr>
            </thead>
            <tbody>
              {changes.map(change => (
                <ChangeRow key={change.id} change={change} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasNextPage && (
        <Button className="button" onPress={() => void fetchNextPage()}>
          {agentsWords.more}
        </Button>
      )}
    </div>
  )
}

const ChangeRow = ({
  change: { changed_at, changed_by, kind, name, version, change, note, restored_from },
}: {
  change: Change
}) => (
  <tr>
    <td className="numeric">
      <TimeOf at={changed_at} />
    </td>
    <td>{changed_by}</td>
    <td>
      {agentsWords.kindNames[kind] ?? kind} <strong>{name}</strong>:{' '}
      {agentsWords.changeNames[change](version, restored_from)}
    </td>
    <td>{note}</td>
  </tr>
)
