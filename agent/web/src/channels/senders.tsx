/** The senders of a connection: the users they are linked to, and whether their messages are accepted. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { type AnswerOf, visibleText } from '@cairn/protocol'
import { usersQuery } from '../admin/admin-queries.ts'
import { client, describeError } from '../api.ts'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { sendersQuery } from './channel-queries.ts'
import { channelsWords } from '../words/channels.ts'

type Sender = AnswerOf<'listSenders'>['senders'][number]
type Verdict = Sender['verdict']

export function Senders({ id }: { id: string }) {
  const { data: senders, error } = useQuery(sendersQuery(id))
  const queries = useQueryClient()
  const judge = useMutation({
    mutationFn: async ({ sender, verdict }: { sender: string; verdict: Verdict }) => {
      await client.call('judgeSender', { params: { channel_id: id, sender }, body: { verdict } })
    },
    meta: { showsError: true },
    onSettled: () => queries.invalidateQueries({ queryKey: sendersQuery(id).queryKey }),
  })
  const failure = error ?? judge.error
  return (
    <div className="channel-part">
      {failure && (
        <p className="inline-error" role="alert">
          {describeError(failure)}
        </p>
      )}
      {senders?.length === 0 && <p className="faint">{channelsWords.noMessages}</p>}
      <ul className="channel-rows" data-testid="senders">
        {senders?.map(sender => (
          <SenderRow
            key={sender.platform_user_id}
            sender={sender}
            isBusy={judge.isPending}
            onJudge={verdict => judge.mutate({ sender: sender.platform_user_id, verdict })}
          />
        ))}
      </ul>
      <p className="faint">{channelsWords.linkHint}</p>
    </div>
  )
}

type RowProps = { sender: Sender; isBusy: boolean; onJudge: (verdict: Verdict) => void }

function SenderRow({ sender, isBusy, onJudge }: RowProps) {
  const { platform_user_id, name, verdict, user_id, last_seen_at } = sender
  const { data: users = [] } = useQuery(usersQuery)
  const now = useNow(10_000)
  const linked = users.find(user => user.id === user_id)?.name
  const shown = visibleText(name ?? platform_user_id)
  const button = (to: Verdict, label: string) => (
    <Button
      className="button small"
      isDisabled={isBusy}
      onPress={() => onJudge(to)}
      aria-label={`${label} ${shown}`}
    >
      {label}
    </Button>
  )
  return (
    <li data-testid="sender" data-verdict={verdict ?? undefined}>
      <div>
        {shown} <span className="faint mono">{visibleText(platform_user_id)}</span>
        <p className="faint">
          {user_id === null ? channelsWords.notLinked : channelsWords.linkedTo(linked ?? channelsWords.aUser)}
          {` · ${channelsWords.lastMessage(formatAgo(last_seen_at, now))}`}
          {verdict === null ? '' : ` · ${channelsWords.verdicts[verdict]}`}
        </p>
      </div>
      <span className="row-buttons">
        {verdict !== 'allowed' && button('allowed', channelsWords.allow)}
        {verdict !== 'blocked' && button('blocked', channelsWords.block)}
        {verdict !== null && button(null, channelsWords.reset)}
      </span>
    </li>
  )
}
