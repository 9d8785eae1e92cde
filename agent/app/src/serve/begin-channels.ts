/** Starts the messaging channels of a service and reports their addresses; `parts` stops them. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Mount } from '@cairn/api'
import { type ChannelsOptions, followPageSecrets, startChannels, wait } from '@cairn/channels'
import type { UserRow } from '@cairn/log'
import type { OrgConfigs } from '../settings/org-configs.ts'
import type { ServiceOptions } from './service-options.ts'

export async function beginChannels(
  {
    role,
    config,
    env,
    workspacesDir,
    sealing,
    guardedFetch,
    learnSecrets,
    store,
    admin,
    orgs,
  }: Pick<ServiceOptions, 'role' | 'config' | 'env' | 'workspacesDir'> &
    Pick<ChannelsOptions, 'sealing' | 'guardedFetch' | 'learnSecrets' | 'store'> & {
      admin: UserRow
      /** The agents and models that channels use, as they are now. */
      orgs: Pick<OrgConfigs, 'of'>
    },
  report: ChannelsOptions['report'],
  parts: AsyncDisposableStack,
): Promise<Mount[]> {
  if (role === 'worker') {
    // Events of its turns must not contain a secret of the channel either.
    const { org_id } = admin
    parts.defer(await followPageSecrets({ store, sealing, learnSecrets, report, org_id }))
    return []
  }
  const channels = await startChannels({
    store,
    config,
    env,
    workspacesDir,
    sealing,
    guardedFetch,
    learnSecrets,
    configOf: async orgId => (await orgs.of(orgId)).config,
    org_id: admin.org_id,
    created_by: admin.id,
    holder: `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`,
    now: Date.now,
    newId: randomUUID,
    random: Math.random,
    wait,
    report,
  })
  parts.defer(() => channels.stop())
  for (const { name, path } of channels.paths)
    report('info', `the channel ${name} receives webhooks at ${path}`)
  return channels.prefixes.map(prefix => ({
    prefix,
    handle: channels.handle,
    headersFor: channels.headersFor,
  }))
}
