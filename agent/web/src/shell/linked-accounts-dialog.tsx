/** The person's accounts on messaging channels, and a code that links another one. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { Button, Heading } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { ModalDialog } from '../ui/modal.tsx'
import { accountWords } from '../words/account.ts'
import { generalWords } from '../words/general.ts'
import { rich } from '../words/rich.tsx'

const LINKS = ['channel-links']

export function LinkedAccountsDialog({ onDone }: { onDone: () => void }) {
  const queries = useQueryClient()
  const another = useRef<HTMLButtonElement>(null)
  const links = useQuery({
    queryKey: LINKS,
    queryFn: async ({ signal }) => (await client.call('listChannelLinks', { signal })).links,
    // The code is used elsewhere while this dialog is open.
    refetchInterval: 3_000,
  })
  const make = useMutation({ mutationFn: () => client.call('createChannelLink'), meta: { showsError: true } })
  const end = useMutation({
    mutationFn: async (link_id: string) => {
      await client.call('deleteChannelLink', { params: { link_id } })
    },
    meta: { showsError: true },
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: LINKS })
      // The focused button was removed together with its account.
      another.current?.focus()
    },
  })
  const failure = links.error ?? make.error ?? end.error
  return (
    <ModalDialog onClose={onDone}>
      <Heading slot="title">{accountWords.linkedAccounts}</Heading>
      <p className="faint">{accountWords.linkedHint}</p>
      {failure && (
        <p className="inline-error" role="alert">
          {describeError(failure)}
        </p>
      )}
      <ul className="linked-accounts" data-testid="linked-accounts">
        {links.data?.map(({ id, platform, platform_user_id }) => (
          <li key={id}>
            {visibleText(platform)} <span className="mono">{visibleText(platform_user_id)}</span>
            <Button
              className="button small danger"
              isDisabled={end.isPending}
              onPress={() => end.mutate(id)}
              aria-label={accountWords.unlinkNamed(visibleText(platform_user_id))}
            >
              {accountWords.unlink}
            </Button>
          </li>
        ))}
      </ul>
      {links.data?.length === 0 && <p>{accountWords.noLinks}</p>}
      {make.data && (
        <p role="status" data-testid="link-code">
          {rich(accountWords.linkCode, { command: <code>{`/link ${make.data.code}`}</code> })}
        </p>
      )}
      <div className="actions">
        <Button className="button" onPress={onDone}>
          {generalWords.close}
        </Button>
        <Button
          ref={another}
          className="button primary"
          isDisabled={make.isPending}
          onPress={() => make.mutate()}
          data-testid="make-link-code"
        >
          {make.data ? accountWords.anotherCode : accountWords.linkAccount}
        </Button>
      </div>
    </ModalDialog>
  )
}
