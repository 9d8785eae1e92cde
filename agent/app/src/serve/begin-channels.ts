/** Starts the messaging channels of a service and reports their addresses; `parts` stops them. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Mount } from '@cairn/api'
import { type ChannelsOptions, followPageSecrets, startChannels, wait } from '@cairn/channels'
import type { LogStore, UserRow } from '@cairn/log'
import { DEFAULT_AGENT } from '@cairn/sessions'
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
  }: Pick<ServiceOptions, 'role' | 'config' | 'env' | 'workspacesDir'> &
    Pick<ChannelsOptions, 'sealing' | 'guardedFetch' | 'learnSecrets'>,
  store: LogStore,
  admin: UserRow,
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
    org_id: admin.org_id,
    created_by: admin.id,
    agents: [...new Set([DEFAULT_AGENT, ...Object.keys(config.agents)])],
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
