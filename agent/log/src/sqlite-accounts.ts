/** The AccountStore of the embedded store: reads here, writes through the writer. */
import { accountReads, type AccountWrites } from './account-queries.ts'
import { TOUCH_MS } from './account-times.ts'
import type { Db } from './sqlite-adapter.ts'
import type { AccountStore } from './account-store.ts'
import type { Request } from './writer-messages.ts'

type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never

export function createAccounts(
  db: Db,
  now: () => number,
  ask: (request: Request) => Promise<unknown>,
): AccountStore {
  const reads = accountReads(db)
  async function write<M extends keyof AccountWrites>(
    method: M,
    ...args: Tail<Parameters<AccountWrites[M]>>
  ): Promise<ReturnType<AccountWrites[M]>> {
    return (await ask({ do: 'account', at: now(), method, args })) as ReturnType<AccountWrites[M]>
  }
  return {
    ensureFirstAdmin: (org, admin) => write('ensureFirstAdmin', org, admin),
    createUser: user => write('createUser', user),
    getUser: async id => reads.getUser(id),
    findUserByEmail: async email => reads.findUserByEmail(email),
    listUsers: async orgId => reads.listUsers(orgId),
    setPassword: (userId, hash) => write('setPassword', userId, hash),
    disableUser: (id, at) => write('disableUser', id, at),
    createServiceAccount: account => write('createServiceAccount', account),
    getServiceAccount: async id => reads.getServiceAccount(id),
    async findServiceAccount(tokenSha256) {
      const found = reads.findServiceAccount(tokenSha256)
      if (found !== null && Math.abs(now() - (found.last_used_at ?? 0)) > TOUCH_MS)
        await write('touchServiceAccount', found.id)
      return found
    },
    listServiceAccounts: async orgId => reads.listServiceAccounts(orgId),
    revokeServiceAccount: (orgId, id, at) => write('revokeServiceAccount', orgId, id, at),
    createLogin: login => write('createLogin', login),
    getLogin: async id => reads.getLogin(id),
    rotateLogin: (id, from, to, expiresAt) => write('rotateLogin', id, from, to, expiresAt),
    revokeLogin: (id, at) => write('revokeLogin', id, at),
    revokeLogins: (userId, at, keep) => write('revokeLogins', userId, at, keep),
    addLoginLink: (sha256, userId, expiresAt) => write('addLoginLink', sha256, userId, expiresAt),
    useLoginLink: (sha256, at) => write('useLoginLink', sha256, at),
    addShare: share => write('addShare', share),
    findShare: async tokenSha256 => reads.findShare(tokenSha256),
    listShares: async sessionId => reads.listShares(sessionId),
    revokeShare: (sessionId, id, at) => write('revokeShare', sessionId, id, at),
    beginIdempotent: (key, principalId, bodySha256) => write('beginIdempotent', key, principalId, bodySha256),
    finishIdempotent: (key, principalId, status, body) =>
      write('finishIdempotent', key, principalId, status, body),
    dropIdempotent: (key, principalId) => write('dropIdempotent', key, principalId),
  }
}
