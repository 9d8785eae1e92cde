/** Connections to messaging platforms, created and deleted by the organisation's administrators. */
import type { ChannelConnection } from '@cairn/log'
import { type AnswerOf, AppError, channelForms as forms } from '@cairn/protocol'
import {
  agentNamesOf,
  changeConnection,
  type ConnectionDeps,
  createConnection,
  deleteConnection,
  planTestMessage,
  shownSettings,
} from '@cairn/sessions'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import { configOf } from '../settings.ts'
import { findConnection } from './find-connection.ts'

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

type Shown = AnswerOf<'listChannels'>['channels'][number]

/** The row remains after cairn.yaml no longer lists the connection; its last status is then outdated. */
const isRemoved = ({ config }: Services, { origin, name }: ChannelConnection): boolean =>
  origin === 'config' && !Object.hasOwn(config.channels, name)

async function shown(services: Services, connection: ChannelConnection): Promise<Shown> {
  const { store } = services
  const { id, name, platform, state_since, last_error, last_error_at, origin } = connection
  const removed = isRemoved(services, connection)
  const state = removed ? 'disabled' : connection.state
  const { dead, last_in, last_out, waiting_since } = await store.channels.connectionFigures(id)
  return {
    id,
    name,
    platform,
    state,
    state_since: iso(state_since),
    last_error,
    last_error_at: isoOrNull(last_error_at),
    dead_letters: dead,
    last_in_at: isoOrNull(last_in),
    last_out_at: isoOrNull(last_out),
    waiting_since: isoOrNull(waiting_since),
    webhook_path: `/v1/channels/${id}/webhook`,
    origin,
    removed,
  }
}
const detailed = async (
  services: Services,
  connection: ChannelConnection,
): Promise<AnswerOf<'getChannel'>> => ({
  ...(await shown(services, connection)),
  ...shownSettings(connection),
})

async function depsOf(services: Services, of: { org_id: string }): Promise<ConnectionDeps> {
  const { store, newId, connections } = services
  if (connections === undefined)
    throw new AppError('wrong_state', 'This server has no channels: use a server that does.')
  const { config } = await configOf(services, of)
  return {
    store,
    newId,
    sealing: connections.sealing,
    agents: agentNamesOf(config),
    urlProblem: (url, agent) => connections.urlProblem(url, agent, config.agents),
  }
}

export const listChannels: Handler<'listChannels'> = async ({ services, principal }) => {
  const connections = await services.store.channels.listConnections(principal.org_id)
  return { channels: await Promise.all(connections.map(each => shown(services, each))) }
}

export const channelForms: Handler<'channelForms'> = () => Promise.resolve({ forms: forms() })

export const createChannel: Handler<'createChannel'> = async ({ services, principal, body }) => {
  const id = await createConnection(await depsOf(services, principal), principal, body)
  return detailed(services, await findConnection(services, principal, id))
}

export const getChannel: Handler<'getChannel'> = async ({ services, principal, params }) =>
  detailed(services, await findConnection(services, principal, params.channel_id))

export const changeChannel: Handler<'changeChannel'> = async ({ services, principal, params, body }) => {
  const connection = await findConnection(services, principal, params.channel_id)
  const { settings, secrets } = body
  await changeConnection(await depsOf(services, principal), connection, {
    ...(settings === undefined ? {} : { settings }),
    ...(secrets === undefined ? {} : { secrets }),
  })
  return detailed(services, await findConnection(services, principal, params.channel_id))
}

export const deleteChannel: Handler<'deleteChannel'> = async ({ services, principal, params }) => {
  const connection = await findConnection(services, principal, params.channel_id)
  await deleteConnection(services, connection, { isRemoved: isRemoved(services, connection) })
  return undefined
}

export const enableChannel: Handler<'enableChannel'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services, principal, params.channel_id)
  await services.store.channels.enableConnection(id)
  return undefined
}

export const disableChannel: Handler<'disableChannel'> = async ({ services, principal, params }) => {
  const { id } = await findConnection(services, principal, params.channel_id)
  await services.store.channels.disableConnection(id)
  return undefined
}

export const testChannel: Handler<'testChannel'> = async ({ services, principal, params, body }) => {
  const connection = await findConnection(services, principal, params.channel_id)
  return { delivery_id: await planTestMessage(services, connection, body.to) }
}
