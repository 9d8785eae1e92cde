/** The decision on an item and its author. A service account is never shown as a person. */
import { useQuery } from '@tanstack/react-query'
import { type InboxItem, visibleText } from '@cairn/protocol'
import { meQuery } from '../queries.ts'
import { inboxWords } from '../words/inbox.ts'

const DECIDED: Record<string, string> = inboxWords.outcomes

export function Outcome({ item }: { item: InboxItem }) {
  const { data: me } = useQuery(meQuery)
  const word = item.decision ?? item.status
  const { decided_by_user_id: user, decided_by_service_account_id: machine, decided_by_name: name } = item
  return (
    <span className="muted" data-testid="inbox-outcome">
      {DECIDED[word] ?? word}
      {user !== undefined &&
        (user === me?.id ? ` ${inboxWords.byYou}` : <Named by={inboxWords.byUser} id={user} name={name} />)}
      {machine !== undefined && <Named by={inboxWords.byServiceAccount} id={machine} name={name} />}
    </span>
  )
}

/** A deleted account is shown by its id. */
const Named = ({ by, id, name }: { by: string; id: string; name: string | undefined }) => (
  <>
    {` ${by} `}
    {name === undefined ? <code>{id}</code> : <span title={id}>{visibleText(name)}</span>}
  </>
)
