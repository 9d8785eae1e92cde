/**
 * Service accounts: their tokens, when each was last used and when it expires; creating and revoking them.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, Input, Label, TextField } from 'react-aria-components'
import type { AnswerOf, BodyOf } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { accountsQuery } from './admin-queries.ts'
import { scrollRegion } from '../ui/scroll-region.ts'
import { ShownOnce } from '../ui/shown-once.tsx'
import { adminWords } from '../words/admin.ts'
import { generalWords } from '../words/general.ts'

type Account = AnswerOf<'listServiceAccounts'>['service_accounts'][number]

/** The current status of a token. */
function standing({ revoked_at, expires_at }: Account, now: number): string {
  if (revoked_at !== null) return adminWords.revoked(formatAgo(revoked_at, now))
  if (expires_at === null) return adminWords.neverExpires
  const days = (Date.parse(expires_at) - now) / 86_400_000
  if (days <= 0) return adminWords.expired
  return days < 1 ? adminWords.expiresToday : adminWords.daysLeft(Math.round(days))
}

export function AccountsPage() {
  const { data: accounts = [], error } = useQuery(accountsQuery)
  const [made, setMade] = useState<{ name: string; token: string } | null>(null)
  const now = useNow(60_000)
  return (
    <div className="admin-section">
      <header>
        <h2>{adminWords.serviceAccounts}</h2>
      </header>
      <NewAccount onMade={setMade} />
      {made && (
        <ShownOnce what={adminWords.tokenOf(made.name)} secret={made.token} onDone={() => setMade(null)} />
      )}
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      <div className="table-scroll" {...scrollRegion(adminWords.serviceAccounts)}>
        <table className="table" data-testid="accounts">
          <thead>
            <tr>
              <th scope="col">{generalWords.name}</th>
              <th scope="col">{adminWords.token}</th>
              <th scope="col">{adminWords.access}</th>
              <th scope="col">{adminWords.lastUsed}</th>
              <th scope="col">{adminWords.status}</th>
              <th scope="col">
                <span className="visually-hidden">{generalWords.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {accounts.map(account => (
              <AccountRow key={account.id} account={account} now={now} />
            ))}
          </tbody>
        </table>
      </div>
      {accounts.length === 0 && <p className="faint">{adminWords.noAccounts}</p>}
    </div>
  )
}

function AccountRow({ account, now }: { account: Account; now: number }) {
  const queries = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => client.call('revokeServiceAccount', { params: { account_id: account.id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: accountsQuery.queryKey }),
  })
  const isGone =
    account.revoked_at !== null || (account.expires_at !== null && Date.parse(account.expires_at) <= now)
  return (
    <tr data-gone={isGone || undefined}>
      <td>{account.name}</td>
      <td className="mono">{account.token_prefix}…</td>
      <td>{account.scope === 'org' ? adminWords.wholeOrganisation : adminWords.ownSessions}</td>
      <td>{account.last_used_at === null ? generalWords.never : formatAgo(account.last_used_at, now)}</td>
      <td>{standing(account, now)}</td>
      <td>
        {!isGone && (
          <span className="row-buttons">
            <Button
              className="button small danger"
              isDisabled={revoke.isPending}
              onPress={() => revoke.mutate()}
              aria-label={adminWords.revokeNamed(account.name)}
              data-testid="revoke-account"
            >
              {adminWords.revoke}
            </Button>
          </span>
        )}
      </td>
    </tr>
  )
}

function NewAccount({ onMade }: { onMade: (made: { name: string; token: string }) => void }) {
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: (body: BodyOf<'createServiceAccount'>) =>
      client.call('createServiceAccount', { body, idempotencyKey: crypto.randomUUID() }),
    meta: { showsError: true },
    onSuccess: async ({ name, token }) => {
      onMade({ name, token })
      await queries.invalidateQueries({ queryKey: accountsQuery.queryKey })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const element = event.currentTarget
    const form = new FormData(element)
    const days = Number(form.get('days'))
    create.mutate(
      {
        name: String(form.get('name')).trim(),
        scope: form.get('org') === 'on' ? 'org' : 'own',
        ...(days > 0 && { expires_in_days: days }),
      },
      { onSuccess: () => element.reset() },
    )
  }
  return (
    <form className="admin-form" onSubmit={submit}>
      <TextField className="field" name="name" isRequired maxLength={100}>
        <Label>{generalWords.name}</Label>
        <Input className="input" data-testid="new-account-name" />
      </TextField>
      <TextField className="field" name="days" type="number">
        <Label>{adminWords.expiresAfter}</Label>
        <Input className="input" min={1} placeholder={generalWords.never} />
      </TextField>
      <label className="admin-check">
        <input type="checkbox" name="org" /> {adminWords.seesOrganisation}
      </label>
      <Button
        className="button primary"
        type="submit"
        isDisabled={create.isPending}
        data-testid="add-account"
      >
        {adminWords.createAccount}
      </Button>
      {create.isError && (
        <p className="inline-error" role="alert">
          {describeError(create.error)}
        </p>
      )}
    </form>
  )
}
