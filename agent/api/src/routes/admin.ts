/** Users and service accounts; for administrators, within their organisation. */
import type { LogStore, ServiceAccountRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import {
  createLoginLink as makeLoginLink,
  createServiceAccount as makeServiceAccount,
} from '../auth/issue.ts'
import type { Handler } from '../handler.ts'
import { shownAccount, shownUser } from './session-view.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** The maximum value of a Date. */
const END_OF_TIME = 8.64e15

/**
 * People distinguish accounts by name, so a name in use is rejected. Not a guarantee: two simultaneous
 * requests may both succeed.
 */
async function refuseNameInUse(store: LogStore, orgId: string, name: string, now: number): Promise<void> {
  const accounts = await store.accounts.listServiceAccounts(orgId)
  const isLive = ({ revoked_at, expires_at }: ServiceAccountRow): boolean =>
    revoked_at === null && (expires_at === null || expires_at > now)
  if (!accounts.some(account => account.name === name && isLive(account))) return
  const message = `service account ${JSON.stringify(name)} exists already: revoke it, or choose another name`
  throw new AppError('wrong_state', `name: ${message}`, { extra: { errors: [{ path: 'name', message }] } })
}

export const createServiceAccount: Handler<'createServiceAccount'> = async ({
  services,
  principal,
  body,
}) => {
  await refuseNameInUse(services.store, principal.org_id, body.name, services.now())
  const { account, token } = await makeServiceAccount(services.store, {
    id: services.newId(),
    org_id: principal.org_id,
    name: body.name,
    scope: body.scope,
    created_by: principal.id,
    expires_at:
      body.expires_in_days === undefined
        ? null
        : Math.min(END_OF_TIME, Math.round(services.now() + body.expires_in_days * DAY_MS)),
  })
  return { ...shownAccount(account), token }
}

export const listServiceAccounts: Handler<'listServiceAccounts'> = async ({ services, principal }) => ({
  service_accounts: (await services.store.accounts.listServiceAccounts(principal.org_id)).map(shownAccount),
})

export const revokeServiceAccount: Handler<'revokeServiceAccount'> = async ({
  services,
  principal,
  params,
}) => {
  if (
    !(await services.store.accounts.revokeServiceAccount(principal.org_id, params.account_id, services.now()))
  )
    throw new AppError('not_found', 'Service account not found.')
  services.authenticator.forget()
  await services.standing.check()
  return undefined
}

export const createUser: Handler<'createUser'> = async ({ services, principal, body }) => {
  const { accounts } = services.store
  const refuseTaken = async (): Promise<void> => {
    if ((await accounts.findUserByEmail(body.email)) !== null)
      throw new AppError('wrong_state', 'email: a user with this address exists already', {
        extra: { errors: [{ path: 'email', message: 'a user with this address exists already' }] },
      })
  }
  await refuseTaken()
  const user = await accounts
    .createUser({
      id: services.newId(),
      org_id: principal.org_id,
      email: body.email,
      name: body.name,
      admin: body.admin,
      password_hash: null,
    })
    .catch(async (error: unknown) => {
      // The store accepts one of two simultaneous requests; the other gets the same error as a later one.
      await refuseTaken()
      throw error
    })
  return { ...shownUser(user), login_token: await makeLoginLink(services.store, user.id, services.now()) }
}

export const listUsers: Handler<'listUsers'> = async ({ services, principal }) => ({
  users: (await services.store.accounts.listUsers(principal.org_id)).map(shownUser),
})

export const createLoginLink: Handler<'createLoginLink'> = async ({ services, principal, params }) => {
  const user = await services.store.accounts.getUser(params.user_id)
  if (user === null || user.org_id !== principal.org_id) throw new AppError('not_found', 'User not found.')
  if (user.disabled_at !== null)
    throw new AppError('wrong_target', 'This user is disabled and cannot log in.')
  return { login_token: await makeLoginLink(services.store, user.id, services.now()) }
}

export const disableUser: Handler<'disableUser'> = async ({ services, principal, params }) => {
  const user = await services.store.accounts.getUser(params.user_id)
  if (user === null || user.org_id !== principal.org_id) throw new AppError('not_found', 'User not found.')
  if (user.id === principal.id)
    throw new AppError('wrong_target', 'You cannot disable yourself: ask another administrator.')
  await services.store.accounts.disableUser(user.id, services.now())
  services.authenticator.forget()
  await services.standing.check()
  return undefined
}
